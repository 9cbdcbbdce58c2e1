#pragma once
// Finds the steps of a trace.
//
// Steps are the ranges of one name (without its number) in one thread, the most numerous ones. A step lasts until the
// next one begins, except before a pause of more than ten steps, or what was not recorded. If there are four or more,
// the first one is left out, because it contains warm-up.
//
// Threads: pure functions. Failure: none.

#include <cstdint>
#include <optional>
#include <vector>

#include "unstarve/diagnose/traces/intervals.h"
#include "unstarve/diagnose/traces/trace_events.h"

namespace unstarve {

struct TraceSteps {
  std::vector<Interval> windows;  // in order, disjoint; one for the whole trace if there are no steps
  std::optional<std::uint32_t> lane;
  bool found = false;
};

// `observed`: the time of the whole trace.
[[nodiscard]] TraceSteps steps_of(TraceEvents& events, Interval observed);

}  // namespace unstarve
