#pragma once
// Finds the steps of a training program without markers, stacks or kernels: the period of what its main thread does.
//
//   reads       #........#........#........       the counters of a thread, in intervals of a few milliseconds: their
//   CPU time    .####.##..####.##..####.##        autocorrelation has peaks at one step, two steps, ...
//
// Of the lags at which the autocorrelation is about largest, the shortest is the period. There is none
//   - if other peaks are almost as large, or if it is too short: batches of samples, epochs of short steps;
//   - if it is within 4.5 standard deviations of what chance makes, or hardly rises above shorter lags;
//   - if the halves of the series differ, or if the peak at twice the lag is missing: trends, and steps whose durations
//     vary by much more than 20 %.
// Of 7000 random series without a period, of seven kinds, one had a result.
//
// Threads: a pure function. Failure: none. Cost: about 3 ms for 1600 intervals of six counters.

#include <optional>
#include <vector>

namespace unstarve {

struct ThreadSeries {
  double interval_s = 0;
  std::vector<std::vector<double>> counters;  // what was added in each interval; all lists have the same length
};

// Seconds. Only periods of kShortestPeriod intervals and more, of which the series contains kFewestPeriodSteps.
inline constexpr std::size_t kShortestPeriod = 5, kFewestPeriodSteps = 10;
[[nodiscard]] std::optional<double> step_period(const ThreadSeries& series);

}  // namespace unstarve
