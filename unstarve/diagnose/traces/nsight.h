#pragma once
// Reads the SQLite file that `nsys export --type sqlite report.nsys-rep` writes.
//
//   table                                       becomes
//   CUPTI_ACTIVITY_KIND_KERNEL, _GRAPH_TRACE    kernels and collectives, by their names
//   CUPTI_ACTIVITY_KIND_MEMCPY, _MEMSET         copies, memsets
//   CUPTI_ACTIVITY_KIND_RUNTIME                 calls of the runtime
//   NVTX_EVENTS                                 steps and ranges with a known name
//   TARGET_INFO_GPU, TARGET_INFO_CUDA_DEVICE    name, memory and compute capability of the devices
//
// Of several processes, only that with the most kernels is evaluated. Columns that an older version does not write are
// not required.
//
// Threads: one.
// Failure: Error(kInput) for a database of another program or a damaged one; Error(kIo).

#include <cstdint>
#include <span>
#include <string>

#include "unstarve/diagnose/traces/sqlite_file.h"
#include "unstarve/diagnose/traces/trace_events.h"

namespace unstarve {

[[nodiscard]] bool begins_as_sqlite(std::span<const std::uint8_t> file) noexcept;

// `name` is for messages.
void read_nsight(const SqliteFile& file, const std::string& name, TraceEvents& events);

}  // namespace unstarve
