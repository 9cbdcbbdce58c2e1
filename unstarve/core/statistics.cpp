#include "unstarve/core/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

// P(|T| <= t) for integer degrees of freedom: the finite sums of Abramowitz and Stegun, 26.7.3 (odd) and 26.7.4 (even).
double student_t_central_probability(double t, int degrees) {
  const double theta = std::atan(t / std::sqrt(degrees));
  const double cosine = std::cos(theta), square = cosine * cosine;
  const bool odd = degrees % 2 == 1;
  // Odd: cos + 2/3 cos^3 + (2*4)/(3*5) cos^5 + ...; even: 1 + 1/2 cos^2 + (1*3)/(2*4) cos^4 + ...; to cos^(degrees-2).
  double term = odd ? cosine : 1, sum = degrees == 1 ? 0 : term;
  for (int power = odd ? 3 : 2; power <= degrees - 2; power += 2) {
    term *= square * (power - 1) / power;
    sum += term;
  }
  return odd ? 2 / std::numbers::pi * (theta + std::sin(theta) * sum) : std::sin(theta) * sum;
}

}  // namespace

double student_t_975(int degrees) {
  if (degrees < 1) throw argument_error("Student's t: {} degrees of freedom; expected at least 1", degrees);
  constexpr double kNormal = 1.9599639845400545;  // the same quantile of the normal distribution
  if (degrees > 1000) {
    // Abramowitz and Stegun, 26.7.5; the first omitted term is below 1e-11 here.
    const double v = degrees, x = kNormal, x2 = x * x;
    return x + x * (x2 + 1) / (4 * v) + x * ((5 * x2 + 16) * x2 + 3) / (96 * v * v) +
           x * (((3 * x2 + 19) * x2 + 17) * x2 - 15) / (384 * v * v * v);
  }
  double low = kNormal, high = 12.8;  // the quantile decreases with the degrees, from 12.706 for one
  for (int i = 0; i < 100 && high - low > 1e-12; ++i) {
    const double middle = (low + high) / 2;
    (student_t_central_probability(middle, degrees) < 0.95 ? low : high) = middle;
  }
  return (low + high) / 2;
}

RatioInterval ratio_interval(std::span<const double> numerator, std::span<const double> denominator) {
  if (numerator.size() != denominator.size() || numerator.empty()) {
    throw argument_error("ratio interval: {} numerators and {} denominators; expected the same number and at least one",
                         numerator.size(), denominator.size());
  }
  std::vector<double> logs(numerator.size());
  double sum = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const auto positive = [](double x) { return std::isfinite(x) && x > 0; };
    if (!positive(numerator[i]) || !positive(denominator[i])) {
      throw argument_error("ratio interval: pair {} is {} / {}; expected positive numbers", i, numerator[i],
                           denominator[i]);
    }
    logs[i] = std::log(numerator[i]) - std::log(denominator[i]);
    sum += logs[i];
  }
  const double n = static_cast<double>(logs.size()), mean = sum / n;
  RatioInterval result{std::exp(mean), 0, std::numeric_limits<double>::infinity(), static_cast<int>(logs.size())};
  if (logs.size() >= 2) {
    double squares = 0;
    for (const double x : logs) squares += (x - mean) * (x - mean);
    const double half = student_t_975(result.pairs - 1) * std::sqrt(squares / (n - 1) / n);
    result.low = std::exp(mean - half);
    result.high = std::exp(mean + half);
  }
  return result;
}

ConfidenceInterval median_interval(std::span<const double> values) {
  if (values.empty()) throw argument_error("median interval: no values; expected at least one");
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  // The number of values below the median is binomial. `tail`: the probability that it is at most `left_out`.
  const std::size_t n = sorted.size();
  double term = std::exp2(-static_cast<double>(n)), tail = term;
  std::size_t left_out = 0;  // on each side
  while (left_out + 1 < n - left_out - 1) {
    term *= static_cast<double>(n - left_out) / static_cast<double>(left_out + 1);
    tail += term;
    if (2 * tail > 0.05) break;
    ++left_out;
  }
  return {sorted[left_out], sorted[n - 1 - left_out]};
}

ConfidenceInterval wilson_interval(std::uint64_t hits, std::uint64_t trials) {
  if (trials == 0 || hits > trials)
    throw argument_error("wilson interval: found {} hits in {} trials; expected at least one trial, and no more hits",
                         hits, trials);
  constexpr double kNormal = 1.959963984540054;  // 97.5 % quantile of the normal distribution
  const double n = static_cast<double>(trials), share = static_cast<double>(hits) / n, square = kNormal * kNormal;
  const double centre = (share + square / (2 * n)) / (1 + square / n);
  const double half = kNormal * std::sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n);
  // The ends are exact for no and for all hits, whatever the rounding.
  return {hits == 0 ? 0 : centre - half, hits == trials ? 1 : centre + half};
}

double quantile(std::span<const double> values, double q) {
  if (values.empty()) throw argument_error("quantile: no values; expected at least one");
  if (!(q >= 0 && q <= 1)) throw argument_error("quantile: q is {}; expected 0 to 1", q);
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace unstarve
