#include "unstarve/observe/block_bootstrap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

constexpr int kResamples = 2000;
constexpr std::size_t kFewest = 8;

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// How many consecutive values count as one independent value: the integrated autocorrelation time, by the initial
// positive sequence of Geyer (1992). At least 1.
double correlation_time(std::span<const double> values) {
  const double mean = mean_of(values);
  const auto covariance = [&](std::size_t lag) {
    double sum = 0;
    for (std::size_t i = lag; i < values.size(); ++i) sum += (values[i] - mean) * (values[i - lag] - mean);
    return sum;
  };
  const double variance = covariance(0);
  if (variance <= 0) return 1;
  double time = 1;
  for (std::size_t lag = 1; lag + 1 < values.size() / 2; lag += 2) {
    const double pair = (covariance(lag) + covariance(lag + 1)) / variance;
    if (pair <= 0) break;
    time += 2 * pair;
  }
  return time;
}

// Twice the cube root of the number of values is the order that minimises the error of the variance; blocks must also
// be longer than the values depend on each other.
std::size_t block_of(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double block = std::ceil(std::max(2 * std::cbrt(n), 2 * correlation_time(values)));
  return std::min(static_cast<std::size_t>(block), values.size() / 4);
}

double resampled_mean(std::span<const double> values, std::size_t block, Random& random) {
  const auto starts = static_cast<std::uint32_t>(values.size() - block + 1);
  double sum = 0;
  for (std::size_t taken = 0; taken < values.size();) {
    const std::size_t begin = random.below(starts);
    for (std::size_t i = 0; i < block && taken < values.size(); ++i, ++taken) sum += values[begin + i];
  }
  return sum / static_cast<double>(values.size());
}

void check(std::span<const double> values) {
  const bool positive = std::ranges::all_of(values, [](double x) { return std::isfinite(x) && x > 0; });
  if (values.size() < kFewest || !positive) {
    throw Error(ErrorKind::kArgument, fmt::format("compare rates: found {} times; expected at least {}, all positive",
                                                  values.size(), kFewest));
  }
}

}  // namespace

RatioInterval ratio_of_rates(std::span<const double> numerator_s, std::span<const double> denominator_s) {
  check(numerator_s);
  check(denominator_s);
  const std::size_t numerator_block = block_of(numerator_s), denominator_block = block_of(denominator_s);
  Random random(0, 0, 0, 0);
  double sum = 0, squares = 0;
  for (int i = 0; i < kResamples; ++i) {
    const double log_ratio = std::log(resampled_mean(denominator_s, denominator_block, random) /
                                      resampled_mean(numerator_s, numerator_block, random));
    sum += log_ratio;
    squares += log_ratio * log_ratio;
  }
  const double mean = sum / kResamples, error = std::sqrt(std::max(squares / kResamples - mean * mean, 0.0));
  // Few blocks underestimate the error: Student's t with their number instead of quantiles of the resamples.
  const auto blocks = std::min(numerator_s.size() / numerator_block, denominator_s.size() / denominator_block);
  const double half = student_t_975(static_cast<int>(std::max<std::size_t>(blocks, 2)) - 1) * error;
  const double ratio = mean_of(denominator_s) / mean_of(numerator_s);
  return {ratio, ratio * std::exp(-half), ratio * std::exp(half),
          static_cast<int>(std::min(numerator_s.size(), denominator_s.size()))};
}

bool drifts(std::span<const double> seconds) {
  if (seconds.size() < 2 * kFewest) return false;
  const std::size_t half = seconds.size() / 2;
  const RatioInterval ratio = ratio_of_rates(seconds.subspan(0, half), seconds.subspan(half));
  return (ratio.low > 1 || ratio.high < 1) && std::abs(ratio.ratio - 1) > 0.05;
}

}  // namespace unstarve
