#pragma once
// The memory that steps allocate and release.
//
// Threads: a pure function. Failure: none.

#include <vector>

#include "unstarve/diagnose/traces/steps.h"
#include "unstarve/diagnose/traces/trace_events.h"

namespace unstarve {

// `changes` and the windows `recorded` are in order. A window begins with an unknown level: its levels are those above
// its least one. Without `recorded`, or changes in steps: nothing is known. What only the first steps allocate, for
// example the workspaces of cuDNN, is no growth.
[[nodiscard]] MemoryUse memory_in_steps(const std::vector<MemoryChange>& changes, const std::vector<Interval>& recorded,
                                        const TraceSteps& steps);

}  // namespace unstarve
