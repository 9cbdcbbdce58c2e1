#pragma once
// Reads an XSpace, the protobuf that TensorFlow and JAX write (*.xplane.pb), in place.
//
//   XSpace    1: XPlane*
//   XPlane    2: name   3: XLine*   4: map of XEventMetadata   5: map of XStatMetadata   6: XStat*
//   XLine     1: id   2: name   3: begin in ns   4: XEvent*   11: display name
//   XEvent    1: id of its metadata   2: begin in ps since that of the line   3: duration in ps   4: XStat*
//   XStat     1: id of its metadata   2..6: value   7: id of a XStatMetadata whose name is the value
//
//   plane           lines                               becomes
//   /host:CPU       threads                             steps (stat step_num), loader, operators, calls of the runtime
//   /host:CUPTI     threads                             calls of the runtime
//   /device:GPU:n   "Stream #..."; others are derived   kernels, collectives, copies, memsets
//   /device:TPU:n   "XLA Ops"                           kernels, collectives
//
// A graph of TensorFlow gets its input in threads of TensorFlow. These waits become events of the thread that runs the
// graph: it waits meanwhile. The stat "id" of FunctionRun and IteratorGetNext connects them.
//
// Threads: one. Failure: Error(kInput) with the offset for damage or truncation; for a file without planes.
// Cost:    two passes over the bytes; memory for names and events.

#include <cstdint>
#include <span>
#include <string>

#include "unstarve/diagnose/traces/trace_events.h"

namespace unstarve {

// Whether the file begins as an XSpace with a plane that has an id or a name.
[[nodiscard]] bool begins_as_xspace(std::span<const std::uint8_t> file) noexcept;

void read_xspace(std::span<const std::uint8_t> file, const std::string& name, TraceEvents& events);

}  // namespace unstarve
