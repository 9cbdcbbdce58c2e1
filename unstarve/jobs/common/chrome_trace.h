#pragma once
// A profile or a recording as Chrome JSON trace events, for Perfetto (https://ui.perfetto.dev) and chrome://tracing.
// The tracks of a recording are its own; those of a profile are:
//
//   process      tracks                                 from
//   run          findings (at 0), steps; counters:      timeline and steps of watch: busy cores by role, memory,
//                                                       storage; steps of a trace: parts of each step
//   processes    one per process: its lifetime          processes of watch
//   typical steps    threads and streams, from 0        TraceWindow, with the categories of torch.profiler (kineto.h),
//                                                       so that unstarve diagnose reads it, too
//   threads      states of threads in a few steps        ThreadWindow, at its time since the begin of watching
//
// Times are microseconds. Steps are placed back to back, since only their durations are known: those of watch end with
// the run, those of a trace begin at 0. Events of a track are disjoint or nested; others get a further track.
//
// Threads: pure functions. Failure: none.

#include <filesystem>
#include <span>
#include <string>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/jobs/common/recording.h"
#include "unstarve/observe/report.h"

namespace unstarve {

[[nodiscard]] std::string chrome_trace(const RunProfile& profile, std::span<const RunFinding> findings);
[[nodiscard]] std::string chrome_trace(const Recording& recording);

// Adds a link to the trace, relative to the page at `page`, to the last section of the report.
void add_trace_link(Report& report, const std::filesystem::path& page, const std::filesystem::path& trace);

}  // namespace unstarve
