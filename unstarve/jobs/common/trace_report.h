#pragma once
// What diagnose and watch show of a trace, as text and on their pages: parts of the steps, gaps between kernels, a
// timeline of a few steps, device memory, accelerators, copies, kernels and operators, processes with kernels.
//
// Threads: pure functions. Failure: none.

#include <string>
#include <vector>

#include "unstarve/diagnose/profile/device_use.h"
#include "unstarve/observe/report.h"

namespace unstarve {

// Begins with an empty line. Empty if nothing was analysed.
[[nodiscard]] std::string trace_to_text(const TraceUse& trace);
// How many events were left out, and the first ones; empty: none.
[[nodiscard]] std::vector<std::string> malformed_notes(const MalformedEvents& malformed);

// Adds nothing if no time was analysed.
void add_trace(CurveSection& section, const TraceUse& trace);

[[nodiscard]] std::vector<double> step_seconds_of(const TraceUse& trace);

}  // namespace unstarve
