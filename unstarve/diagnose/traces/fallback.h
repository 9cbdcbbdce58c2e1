#pragma once
// Finds operators that fall back to the CPU: gaps in the work of all devices that a copy to the host begins and a copy
// to a device ends, within one step.
//
//   device    ## kernel ##|= to host =|                          |= to device =|## kernel ##
//   host                              |## aten::linalg_svd ##|
//
// The copy to the host has more than a few numbers, and loader, checkpoints and logging are not active. At least half
// of the gap is in operators of the thread that launches kernels, other than copies, or all of it is in one operator of
// PyTorch. In a trace without operators, both copies have about as many bytes, and the host is not in the runtime.
//
// Threads: a pure function. Failure: none. Cost: sorts the events of the devices.

#include <cstdint>
#include <set>
#include <vector>

#include "unstarve/diagnose/traces/steps.h"
#include "unstarve/diagnose/traces/trace_events.h"

namespace unstarve {

struct Fallbacks {
  FallbackUse use;
  Intervals gaps;  // closed
};

// `busy`: when the loader, checkpoints or logging are active. `runtime`: when threads in `launching` are in calls.
[[nodiscard]] Fallbacks find_fallbacks(const TraceEvents& events, const TraceSteps& steps,
                                       const std::set<std::uint32_t>& launching, const Intervals& busy,
                                       const Intervals& runtime);

}  // namespace unstarve
