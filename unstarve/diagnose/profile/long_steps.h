#pragma once
// Steps that take much longer than the others: evaluation, checkpoints, garbage collection, a slow sample.
//
// Threads: a pure function. Failure: none.

#include <cstddef>
#include <span>
#include <vector>

namespace unstarve {

struct LongSteps {
  std::vector<std::size_t> indexes;
  double median_s = 0;     // of all steps
  double excess_s = 0;     // of the long steps, beyond the median
  double share = 0;        // excess_s of the time of all steps, 0..1
  std::size_t period = 0;  // the distance of the long steps; 0: it differs, or there are fewer than three
};

// Of steps that were watched, this many medians are a pause: other programs delay a step by less.
inline constexpr double kLongStep = 3;

// Steps of more than `factor` times the median.
[[nodiscard]] LongSteps long_steps(std::span<const double> seconds, double factor);

}  // namespace unstarve
