#include "unstarve/train/rate_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "unstarve/core/statistics.h"

namespace unstarve {
namespace {

// e-folds of the rate on each side of a point, over which the slope is measured.
constexpr double kSlopeReach = 0.75;
// Standard deviations of the smoothed loss, and share of it, by which the loss must fall.
constexpr double kClearDeviations = 8, kClearShare = 0.01;
// Median absolute deviation of a normal distribution, relative to its standard deviation.
constexpr double kMedianDeviation = 0.6744897501960817;

// The standard deviation of the smoothed loss. That of a loss follows from the differences of successive losses, in
// which the curve itself cancels; their median does not notice the steps where the curve falls.
double smoothed_deviation(std::span<const RatePoint> points) {
  if (points.size() < 3) return 0;
  std::vector<double> differences;
  for (std::size_t i = 1; i < points.size(); ++i)
    differences.push_back(std::abs(points[i].loss - points[i - 1].loss) / std::numbers::sqrt2);
  const double spacing = std::log(points.back().rate / points.front().rate) / static_cast<double>(points.size() - 1);
  const double decay = std::exp(-spacing);
  return median(differences) / kMedianDeviation * std::sqrt((1 - decay) / (1 + decay));
}

// Without slopes.
std::vector<SmoothedLoss> averages(std::span<const RatePoint> points) {
  std::vector<SmoothedLoss> smoothed;
  double weights = 0, losses = 0, rates = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double decay = i == 0 ? 0 : points[i - 1].rate / points[i].rate;  // e for each e-fold
    weights = decay * weights + 1;
    losses = decay * losses + points[i].loss;
    rates = decay * rates + std::log(points[i].rate);
    smoothed.push_back({std::exp(rates / weights), losses / weights});
  }
  return smoothed;
}

// Losses above it do not count as descent. `smoothed`: after the noisy start.
double ceiling_of(const RateSweep& sweep, std::span<const SmoothedLoss> smoothed) {
  const bool learns = std::ranges::any_of(
      smoothed, [&](const SmoothedLoss& point) { return point.loss < (1 - kClearShare) * sweep.chance_loss; });
  return learns ? sweep.chance_loss : std::numeric_limits<double>::infinity();
}

// Of the points from `start` on. For the descent, losses above `ceiling` count as `ceiling`.
void set_slopes(std::span<SmoothedLoss> smoothed, std::size_t start, double ceiling) {
  std::vector<double> logs;  // of the rates
  for (const SmoothedLoss& point : smoothed) logs.push_back(std::log(point.rate));
  for (std::size_t i = start; i < logs.size(); ++i) {
    const auto first = logs.begin() + static_cast<std::ptrdiff_t>(start);
    const auto after = std::lower_bound(first, logs.end(), logs[i] + kSlopeReach);
    const auto before = std::upper_bound(first, logs.end(), logs[i] - kSlopeReach);  // one further
    if (after == logs.end() || before == first) continue;
    const auto high = static_cast<std::size_t>(after - logs.begin());
    const auto low = static_cast<std::size_t>(before - logs.begin()) - 1;
    const double decades = (logs[high] - logs[low]) / std::numbers::ln10;
    const double before_loss = smoothed[low].loss, after_loss = smoothed[high].loss;
    smoothed[i].slope = (after_loss - before_loss) / decades;
    smoothed[i].descent = (std::min(after_loss, ceiling) - std::min(before_loss, ceiling)) / decades;
  }
}

// What two suggestions have in common: there is no clear descent.
RateSuggestion without_rates(const std::string& reason, const SmoothedLoss& lowest = {}) {
  return {{std::nullopt, reason}, {std::nullopt, reason}, std::nullopt, lowest};
}

SuggestedRate tenth_of_minimum(const RateSweep& sweep, const SmoothedLoss& lowest, const SmoothedLoss& last) {
  if (sweep.end == SweepEnd::kComplete && std::log(last.rate / lowest.rate) < kSlopeReach)
    return {std::nullopt, fmt::format("no minimum: the smoothed loss is lowest at the end of the sweep, {:.3g}; "
                                      "raise --to",
                                      lowest.rate)};
  return {lowest.rate / 10, fmt::format("a tenth of {:.3g}, where the smoothed loss is lowest ({:.3f}); above that "
                                        "rate the loss rises",
                                        lowest.rate, lowest.loss)};
}

}  // namespace

std::vector<SmoothedLoss> smoothed_losses(const RateSweep& sweep) {
  std::vector<SmoothedLoss> smoothed = averages(sweep.points);
  const std::size_t start = std::min(end_of_noisy_start(sweep.points), smoothed.size());
  set_slopes(smoothed, start, ceiling_of(sweep, std::span(smoothed).subspan(start)));
  return smoothed;
}

std::size_t end_of_noisy_start(std::span<const RatePoint> points) {
  std::size_t start = 0;
  while (start < points.size() && points[start].rate < points[0].rate * std::numbers::e) ++start;
  return start;
}

bool has_diverged(std::span<const RatePoint> points, double factor) {
  const std::vector<SmoothedLoss> smoothed = averages(points);
  const std::size_t start = end_of_noisy_start(points);
  if (start >= smoothed.size()) return false;
  double lowest = smoothed[start].loss;
  for (std::size_t i = start; i < smoothed.size(); ++i) lowest = std::min(lowest, smoothed[i].loss);
  return smoothed.back().loss > factor * lowest;
}

RateSuggestion suggest_rate(const RateSweep& sweep) {
  const std::vector<SmoothedLoss> smoothed = smoothed_losses(sweep);
  const std::size_t start = end_of_noisy_start(sweep.points);
  const auto below = [](const SmoothedLoss& a, const SmoothedLoss& b) { return a.loss < b.loss; };
  std::vector<std::size_t> inner;  // points with a slope, up to the minimum
  std::size_t lowest = smoothed.size();
  if (start < smoothed.size()) {
    lowest = static_cast<std::size_t>(
        std::min_element(smoothed.begin() + static_cast<std::ptrdiff_t>(start), smoothed.end(), below) -
        smoothed.begin());
    for (std::size_t i = start; i <= lowest; ++i)
      if (smoothed[i].slope) inner.push_back(i);
  }
  if (lowest == smoothed.size())
    return without_rates(
        fmt::format("no clear descent: the sweep has {} updates, too few to average; use {}", sweep.points.size(),
                    sweep.end == SweepEnd::kComplete ? "more --steps or a lower --from" : "a lower --from"));
  if (inner.size() < 3 && lowest + 1 == smoothed.size())
    return without_rates(
        fmt::format(
            "no clear descent: the smoothed loss is lowest at the last rate of the sweep, {:.3g}, and {} updates "
            "are too few for its slope; use more --steps{}",
            smoothed[lowest].rate, sweep.points.size(), sweep.end == SweepEnd::kComplete ? "" : " or a lower --from"),
        smoothed[lowest]);
  if (inner.size() < 3)
    return without_rates(
        "no clear descent: the smoothed loss is lowest at the first rates of the sweep; use a lower "
        "--from, and more --steps if there are few",
        smoothed[lowest]);

  const auto steepest = std::ranges::min_element(
      inner, [&](std::size_t a, std::size_t b) { return *smoothed[a].descent < *smoothed[b].descent; });
  double before = smoothed[*steepest].loss;
  for (std::size_t i = start; i < *steepest; ++i) before = std::max(before, smoothed[i].loss);
  before = std::min(before, ceiling_of(sweep, std::span(smoothed).subspan(start)));
  const double fall = before - smoothed[lowest].loss;
  const double deviation = smoothed_deviation(std::span(sweep.points).first(lowest + 1));
  const double needed = std::max(kClearDeviations * deviation, kClearShare * before);
  const bool rises = smoothed.back().loss - smoothed[lowest].loss > needed;  // beyond the minimum
  if (!(fall > needed))
    return without_rates(
        fmt::format("no clear descent: the smoothed loss falls by {:.3f}, from {:.3f} to {:.3f}; a fall above {:.3f} "
                    "would be clear of the noise. Use {}more --steps or a larger batch",
                    fall, before, smoothed[lowest].loss, needed,
                    sweep.end == SweepEnd::kComplete && !rises ? "a higher --to, " : ""),
        smoothed[lowest]);

  RateSuggestion result;
  result.lowest = smoothed[lowest];
  result.slope = smoothed[*steepest].slope;
  result.tenth = tenth_of_minimum(sweep, smoothed[lowest], smoothed.back());
  const double rate = smoothed[*steepest].rate;
  if (steepest - inner.begin() < 2) {
    result.steepest.reason = fmt::format(
        "no suggestion: the smoothed loss falls most steeply at the first rates of the sweep, {:.3g}; use a lower "
        "--from",
        rate);
  } else if (inner.end() - steepest <= 2 && !result.tenth.rate) {
    result.steepest.reason = fmt::format(
        "no suggestion: the smoothed loss falls most steeply at the last rates of the sweep, {:.3g}; raise --to", rate);
  } else {
    result.steepest = {rate, fmt::format("the smoothed loss falls most steeply there, by {:.3f} when the rate "
                                         "grows tenfold; the loss falls from {:.3f} to {:.3f}",
                                         -*result.slope, before, smoothed[lowest].loss)};
  }
  return result;
}

}  // namespace unstarve
