#pragma once
// Comparison of two runs whose values depend on each other in time, such as the times of training steps.
//
// Blocks of consecutive values are drawn instead of single ones (moving block bootstrap, Kuensch 1989), so that slow
// phases of a run widen the interval. Blocks are longer than the values depend on each other. The generator is fixed:
// equal input has equal results.
// Threads: pure functions. Cost: 2000 resamples of both lists.

#include <optional>
#include <span>
#include <string>

#include "unstarve/core/statistics.h"

namespace unstarve {

// mean(denominator) / mean(numerator) for times, that is the ratio of rates, with its 95 % interval; `pairs` is the
// smaller number of values. Throws Error(kArgument) unless each list has at least eight positive values.
[[nodiscard]] RatioInterval ratio_of_rates(std::span<const double> numerator_s, std::span<const double> denominator_s);

// Means of two of the equal parts, two to eight, of a run that was not in a steady state.
struct Drift {
  int parts = 0;
  int slowest = 0, fastest = 0;  // number of the part, from 1
  double slowest_s = 0, fastest_s = 0;
};

// The slowest and the fastest part, if they differ by more than 5 %, and by more than those of a steady run with the
// same variation within its parts do in 99.5 % of the cases. Nothing if the run is steady, if it has fewer than 48
// values, or if its values depend on each other for too long to know; or if some are not positive.
[[nodiscard]] std::optional<Drift> drift_of(std::span<const double> seconds);
// "steps of part 3 of 8 take 0.006 s on average, those of part 1 0.020 s"
[[nodiscard]] std::string to_text(const Drift& drift);

// Whether the ratio of interleaved pairs rises or falls from the first to the last by more than 5 %, beyond the 99 %
// interval of a straight line: what is compared changes itself, for example a cache fills. A drift of the machine
// affects both sides alike. False for fewer than four pairs, or if some values are not positive.
[[nodiscard]] bool pairs_drift(std::span<const double> numerator, std::span<const double> denominator);

}  // namespace unstarve
