#pragma once
// The profile of a watched run, or of the trace of another profiler, for TensorBoard.
//
//   watch/cores_main, watch/cores_loader, watch/cores_other, watch/memory_bytes, watch/storage_bytes_per_s
//                                                 over seconds since watching began
//   watch/step_seconds, watch/steps_per_s         over the numbers of steps; the rate is a mean of some steps
//   watch/loader_share                            of the main thread's time, one value
//   trace/step_seconds, trace/kernel_seconds, trace/loader_seconds, ...
//                                                 steps of a trace, or of recorded kernels, and their parts, over the
//                                                 numbers of the steps; 1000 points at most, which are means
//   watch/findings, without watching trace/findings
//                                                 text, the largest loss first
//
// Threads, failure: as EventFile.

#include <filesystem>
#include <span>

#include "unstarve/diagnose/rules/rule.h"

namespace unstarve {

void write_watch_events(const std::filesystem::path& folder, const RunProfile& profile,
                        std::span<const RunFinding> findings);

}  // namespace unstarve
