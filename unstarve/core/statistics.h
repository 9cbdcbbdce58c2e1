#pragma once
// Statistics of interleaved A/B runs: the ratio of two rates with its 95 % confidence interval, and order statistics.
//
// The speed of shared machines drifts, so two settings are measured in alternating blocks (A B B A A B ...) and
// compared pair by pair. The ratio is the geometric mean of the pairs' ratios. Its interval is Student's t over their
// logarithms, which assumes independent, roughly log-normal pairs.
// Threads: pure functions.

#include <cstdint>
#include <span>

namespace unstarve {

struct RatioInterval {
  double ratio = 1;  // geometric mean of numerator / denominator
  double low = 0;    // 95 % interval; (0, infinity) with fewer than two pairs
  double high = 0;
  int pairs = 0;
};

// The pairs are numerator[i], denominator[i]. Throws Error(kArgument) unless the spans have the same nonzero size and
// all values are positive.
[[nodiscard]] RatioInterval ratio_interval(std::span<const double> numerator, std::span<const double> denominator);

// Two-sided 95 % quantile of Student's t with `degrees` >= 1 degrees of freedom (accurate to 1e-6).
[[nodiscard]] double student_t_975(int degrees);

struct ConfidenceInterval {
  double low = 0, high = 0;
};

// 95 % interval of the median of the distribution of independent values, without assumptions about it: the narrowest
// pair of order statistics that covers it with at least that probability. With fewer than 6 values no pair does; then
// the interval is that of the smallest and largest value, which covers 1 - 2^(1 - n). Throws Error(kArgument) if
// `values` is empty.
[[nodiscard]] ConfidenceInterval median_interval(std::span<const double> values);

// 95 % interval of a probability, from `hits` in `trials` independent trials (Wilson 1927). Throws Error(kArgument)
// unless hits <= trials and trials > 0.
[[nodiscard]] ConfidenceInterval wilson_interval(std::uint64_t hits, std::uint64_t trials);

// Quantile q in [0, 1] by linear interpolation between order statistics (NumPy's default). Throws Error(kArgument) if
// `values` is empty. Copies and sorts.
[[nodiscard]] double quantile(std::span<const double> values, double q);
[[nodiscard]] inline double median(std::span<const double> values) { return quantile(values, 0.5); }

}  // namespace unstarve
