#include "unstarve/jobs/compress/accuracy.h"

#include <algorithm>
#include <cmath>

#include "unstarve/core/statistics.h"

namespace unstarve {
namespace {

constexpr double kNormal975 = 1.959964;

// log of the sum of exponentials.
double log_sum(std::span<const float> row) {
  const double largest = *std::ranges::max_element(row);
  double sum = 0;
  for (const float value : row) sum += std::exp(value - largest);
  return largest + std::log(sum);
}

}  // namespace

ShareInterval share_interval(std::uint64_t part, std::uint64_t all) {
  if (all == 0) return {};
  const ConfidenceInterval interval = wilson_interval(part, all);
  return {static_cast<double>(part) / static_cast<double>(all), interval.low, interval.high, all};
}

ShareInterval accuracy_loss(const std::vector<bool>& before, const std::vector<bool>& after) {
  double lost = 0, gained = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    lost += before[i] && !after[i] ? 1 : 0;
    gained += !before[i] && after[i] ? 1 : 0;
  }
  const auto n = static_cast<double>(before.size());
  // Half an image more in each cell of the table of two by two, so that the interval of no change has a width.
  const double total = n + 2, changed = lost + gained + 1, difference = lost - gained;
  const double middle = difference / total;
  const double half = kNormal975 * std::sqrt(std::max(0.0, changed - difference * difference / total)) / total;
  return {difference / n, middle - half, middle + half, before.size()};
}

double mean_divergence(std::span<const float> expected, std::span<const float> outputs, std::size_t classes) {
  double sum = 0;
  for (std::size_t at = 0; at < expected.size(); at += classes) {
    const std::span<const float> p = expected.subspan(at, classes), q = outputs.subspan(at, classes);
    const double log_p = log_sum(p), log_q = log_sum(q);
    for (std::size_t i = 0; i < classes; ++i) sum += std::exp(p[i] - log_p) * ((p[i] - log_p) - (q[i] - log_q));
  }
  return sum / static_cast<double>(expected.size() / classes);
}

double largest_difference(std::span<const float> expected, std::span<const float> outputs) {
  float largest = 0, difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(expected[i] - outputs[i]));
  }
  return difference == 0 ? 0 : static_cast<double>(difference) / static_cast<double>(largest);
}

}  // namespace unstarve
