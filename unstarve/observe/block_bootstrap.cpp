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

bool all_positive(std::span<const double> values) {
  return std::ranges::all_of(values, [](double x) { return std::isfinite(x) && x > 0; });
}

// --- drift -----------------------------------------------------------------------------------------------------------

constexpr double kLeastDrift = 1.05;
constexpr std::size_t kShortestPart = 24;
constexpr double kFewestIndependent = 8;  // values of a part: with fewer, correlation and drift are not distinguishable

struct Partition {
  std::size_t parts;
  std::size_t left_out;    // with most variation: the speed may change within them
  double normal_quantile;  // 99.5 % for all pairs of parts (Bonferroni)
};
constexpr Partition kPartitions[] = {{8, 2, 3.75}, {4, 1, 3.34}, {2, 0, 2.81}};

// Student's quantile from that of the normal distribution (Cornish and Fisher), for at least four degrees or so.
double student_t(double normal, double degrees) {
  const double z = normal;
  return z + (z * z * z + z) / (4 * degrees) + (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * degrees * degrees);
}

// Deviations from a straight line, relative to the mean.
std::vector<double> residuals_of(std::span<const double> values) {
  const double mean = mean_of(values), middle = (static_cast<double>(values.size()) - 1) / 2;
  double slope = 0, squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double at = static_cast<double>(i) - middle;
    slope += at * (values[i] / mean - 1);
    squares += at * at;
  }
  std::vector<double> residuals;
  for (std::size_t i = 0; i < values.size(); ++i)
    residuals.push_back(values[i] / mean - 1 - slope / squares * (static_cast<double>(i) - middle));
  return residuals;
}

struct Variation {
  double variance = 0;
  double correlation_time = 1;  // see correlation_time()
};

// Of all parts together, which have the same length. A straight line through a part hides some of the correlation:
// estimates are corrected by the first order in 1 / length, and the correlation time is at least that of an
// autoregressive process with the same correlation of neighbours.
Variation variation_of(const std::vector<std::vector<double>>& parts) {
  const std::size_t length = parts[0].size();
  const auto m = static_cast<double>(length);
  const auto covariance = [&](std::size_t lag) {
    double sum = 0;
    for (const std::vector<double>& part : parts)
      for (std::size_t i = lag; i < length; ++i) sum += part[i] * part[i - lag];
    return sum / (static_cast<double>(parts.size()) * (m - static_cast<double>(lag)));
  };
  const double variance = covariance(0);
  if (variance <= 1e-12) return {};
  const double neighbours = std::clamp((covariance(1) / variance + 2 / m) / (1 - 4 / m), 0.0, 0.999);
  double time = 1;
  for (std::size_t lag = 1; lag + 1 < length / 2; lag += 2) {
    const double pair = (covariance(lag) + covariance(lag + 1)) / variance;
    if (pair <= 0) break;
    time += 2 * pair;
  }
  time = std::max({time / std::max(1 - 2 * time / m, 0.3), (1 + neighbours) / (1 - neighbours), 1.0});
  return {variance / std::max(1 - 2 * time / m, 0.2), time};
}

void check(std::span<const double> values) {
  if (values.size() < kFewest || !all_positive(values)) {
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

std::optional<Drift> drift_of(std::span<const double> seconds) {
  if (!all_positive(seconds)) return std::nullopt;
  for (const Partition& partition : kPartitions) {
    const std::size_t length = seconds.size() / partition.parts;
    if (length < kShortestPart) continue;
    std::vector<double> means;
    std::vector<std::vector<double>> residuals;
    for (std::size_t part = 0; part < partition.parts; ++part) {
      const auto values = seconds.subspan(part * length, length);
      means.push_back(mean_of(values));
      residuals.push_back(residuals_of(values));
    }
    const auto squares = [](const std::vector<double>& part) {
      return std::inner_product(part.begin(), part.end(), part.begin(), 0.0);
    };
    std::ranges::sort(residuals, {}, squares);
    residuals.resize(partition.parts - partition.left_out);
    const Variation variation = variation_of(residuals);
    const double independent = static_cast<double>(length) / variation.correlation_time;  // values of a part
    if (independent < kFewestIndependent) continue;
    const double error = std::sqrt(2 * variation.variance / independent);
    const double degrees = static_cast<double>(residuals.size()) * (independent - 1);
    const auto fastest = std::ranges::min_element(means), slowest = std::ranges::max_element(means);
    const double range = std::log(*slowest / *fastest);
    if (range <= std::log(kLeastDrift) || range <= error * student_t(partition.normal_quantile, degrees))
      return std::nullopt;
    return Drift{static_cast<int>(partition.parts), static_cast<int>(slowest - means.begin()) + 1,
                 static_cast<int>(fastest - means.begin()) + 1, *slowest, *fastest};
  }
  return std::nullopt;
}

std::string to_text(const Drift& drift) {
  return fmt::format("steps of part {} of {} take {:.3g} s on average, those of part {} {:.3g} s", drift.slowest,
                     drift.parts, drift.slowest_s, drift.fastest, drift.fastest_s);
}

bool pairs_drift(std::span<const double> numerator, std::span<const double> denominator) {
  constexpr double kNormal = 2.576;  // 99 %
  const std::size_t pairs = std::min(numerator.size(), denominator.size());
  if (pairs < 4 || !all_positive(numerator) || !all_positive(denominator)) return false;
  const auto n = static_cast<double>(pairs);
  double mean = 0, slope = 0, squares = 0, residual = 0;
  std::vector<double> logs;
  for (std::size_t i = 0; i < pairs; ++i) {
    logs.push_back(std::log(numerator[i] / denominator[i]));
    mean += logs.back() / n;
  }
  const auto at = [&](std::size_t i) { return static_cast<double>(i) - (n - 1) / 2; };
  for (std::size_t i = 0; i < pairs; ++i) {
    slope += at(i) * (logs[i] - mean);
    squares += at(i) * at(i);
  }
  slope /= squares;
  for (std::size_t i = 0; i < pairs; ++i) residual += std::pow(logs[i] - mean - slope * at(i), 2);
  const double error = std::sqrt(residual / (n - 2) / squares);
  return std::abs(slope) * (n - 1) > std::log(kLeastDrift) && std::abs(slope) > error * student_t(kNormal, n - 2);
}

}  // namespace unstarve
