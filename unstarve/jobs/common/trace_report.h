#pragma once
// What the pages of diagnose and watch show of a trace: parts of the steps, gaps between kernels, a timeline of a few
// steps, device memory, accelerators, copies, kernels and operators, processes with kernels.
//
// Threads: pure functions. Failure: none.

#include <vector>

#include "unstarve/diagnose/profile/device_use.h"
#include "unstarve/observe/report.h"

namespace unstarve {

// Adds nothing if no time was analysed.
void add_trace(CurveSection& section, const TraceUse& trace);

[[nodiscard]] std::vector<double> step_seconds_of(const TraceUse& trace);

}  // namespace unstarve
