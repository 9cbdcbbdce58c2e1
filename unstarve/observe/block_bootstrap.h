#pragma once
// Comparison of two runs whose values depend on each other in time, such as the times of training steps.
//
// Blocks of consecutive values are drawn instead of single ones (moving block bootstrap, Kuensch 1989), so that slow
// phases of a run widen the interval. Blocks are longer than the values depend on each other. The generator is fixed:
// equal input has equal results.
// Threads: pure functions. Cost: 2000 resamples of both lists.

#include <span>

#include "unstarve/core/statistics.h"

namespace unstarve {

// mean(denominator) / mean(numerator) for times, that is the ratio of rates, with its 95 % interval; `pairs` is the
// smaller number of values. Throws Error(kArgument) unless each list has at least eight positive values.
[[nodiscard]] RatioInterval ratio_of_rates(std::span<const double> numerator_s, std::span<const double> denominator_s);

// Whether the second half of the list differs from the first by more than 5 % of the mean, beyond the 95 % interval:
// the run was not in a steady state.
[[nodiscard]] bool drifts(std::span<const double> seconds);

}  // namespace unstarve
