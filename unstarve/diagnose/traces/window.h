#pragma once
// The events of a few typical steps of a trace, for a picture.
//
// Of all runs of kWindowSteps consecutive steps, the one whose durations are nearest to the median is chosen. Events
// are cut at the ends of the window.
//
// Threads: a pure function. Failure: none.
// Cost:    copies the events of the window.

#include <cstdint>
#include <set>
#include <vector>

#include "unstarve/diagnose/traces/steps.h"
#include "unstarve/diagnose/traces/trace_events.h"

namespace unstarve {

// The first of the `count` consecutive steps whose durations are nearest to the median; 0 if there are not more.
[[nodiscard]] std::size_t typical_step(const std::vector<Interval>& steps, std::size_t count = kWindowSteps);

// `main`: lane of the main thread; `launching`: lanes of threads that launch kernels.
[[nodiscard]] TraceWindow window_of(const TraceEvents& events, const TraceSteps& steps, std::uint32_t main,
                                    const std::set<std::uint32_t>& launching);

}  // namespace unstarve
