#include "unstarve/diagnose/probes/step_period.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "unstarve/core/statistics.h"

namespace unstarve {
namespace {

using Series = std::vector<double>;

constexpr std::size_t kWidths[] = {3, 9};  // intervals over which counters are smoothed: shorter periods vanish
constexpr double kPeak = 0.3;              // autocorrelation of a counter that repeats
constexpr double kEqual = 0.94;            // peaks above this share of the largest one are equal
constexpr double kClear = 0.7;             // others must be below this share of the period's
constexpr double kPart = 0.4;    // and those at shorter lags below this: memory may be used again in every second step
constexpr double kDip = 0.4;     // so must be the lowest lag before the period
constexpr double kAgain = 0.3;   // the peak at twice the period, as a share
constexpr double kHalf = 0.5;    // the peak of each half of the series, as a share
constexpr double kChance = 4.5;  // standard deviations of a series without period
constexpr double kFewestEvents = 8;

// Means over up to 2 * radius + 1 values around each one.
Series moving_mean(const Series& values, std::size_t radius) {
  Series sums(values.size() + 1);
  for (std::size_t i = 0; i < values.size(); ++i) sums[i + 1] = sums[i] + values[i];
  Series means(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t begin = i - std::min(i, radius), end = std::min(i + radius + 1, values.size());
    means[i] = (sums[end] - sums[begin]) / static_cast<double>(end - begin);
  }
  return means;
}

// Without outliers and trends; empty: nothing happens, or too rarely.
Series prepared(const Series& counter, std::size_t most) {
  Series events;
  for (const double value : counter)
    if (value > 0) events.push_back(value);
  if (static_cast<double>(events.size()) < kFewestEvents) return {};
  const double high = quantile(events, 0.9);
  Series values = counter;
  for (double& value : values) value = std::clamp(value, 0.0, high);
  const Series trend = moving_mean(values, 2 * most);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= trend[i];
  return values;
}

// For lags below `lags`, which is less than the size; empty for constant values.
Series autocorrelation(std::span<const double> values, std::size_t lags) {
  const auto size = static_cast<double>(values.size());
  double power = 0;
  for (const double value : values) power += value * value / size;
  if (power < 1e-12) return {};
  Series result(lags);
  for (std::size_t lag = 0; lag < lags; ++lag) {
    double sum = 0;
    for (std::size_t i = lag; i < values.size(); ++i) sum += values[i] * values[i - lag];
    result[lag] = sum / power / (size - static_cast<double>(lag));
  }
  return result;
}

double largest(const Series& values, std::size_t begin, std::size_t end) {
  return *std::max_element(values.begin() + static_cast<std::ptrdiff_t>(begin),
                           values.begin() + static_cast<std::ptrdiff_t>(end));
}
double least(const Series& values, std::size_t begin, std::size_t end) {
  return *std::min_element(values.begin() + static_cast<std::ptrdiff_t>(begin),
                           values.begin() + static_cast<std::ptrdiff_t>(end));
}
// Between intervals, by a parabola through a maximum and its neighbours.
struct Peak {
  double lag, height;
};
Peak peak_at(const Series& values, std::size_t lag) {
  const auto at = static_cast<double>(lag);
  if (lag == 0 || lag + 1 >= values.size()) return {at, values[lag]};
  const double slope = 0.5 * (values[lag + 1] - values[lag - 1]);
  const double curve = values[lag - 1] - 2 * values[lag] + values[lag + 1];
  const double shift = curve < 0 ? std::clamp(-slope / curve, -0.5, 0.5) : 0.0;
  return {at + shift, values[lag] + 0.5 * shift * slope};
}

// The largest in `center` - `radius` .. `center` + `radius`.
Peak peak_near(const Series& values, double center, double radius) {
  const auto begin = static_cast<std::size_t>(std::max(std::floor(center - radius), 0.0));
  const auto end = std::min(static_cast<std::size_t>(std::ceil(center + radius)) + 1, values.size());
  const auto at = values.begin();
  const auto most = std::max_element(at + static_cast<std::ptrdiff_t>(begin), at + static_cast<std::ptrdiff_t>(end));
  return peak_at(values, static_cast<std::size_t>(most - at));
}

// Maxima of their surroundings, 15 % of the lag at least.
std::vector<Peak> peaks_of(const Series& values) {
  std::vector<Peak> peaks;
  for (std::size_t lag = 3; lag + 1 < values.size(); ++lag) {
    const auto radius = std::max<std::size_t>(1, 3 * lag / 20);
    if (values[lag] >= largest(values, lag - radius, std::min(lag + radius + 1, values.size())))
      peaks.push_back(peak_at(values, lag));
  }
  return peaks;
}

double highest(const std::vector<Peak>& peaks) {
  double height = 0;
  for (const Peak& peak : peaks) height = std::max(height, peak.height);
  return height;
}

// Sums of the autocorrelations of all counters that repeat, scaled so that a common peak is at most 1.
struct Correlations {
  Series whole, first, second;  // of the series and its halves; empty: no counter repeats
  double chance = 0;            // standard deviation of `whole` if there is no period
};

Correlations correlations_of(const std::vector<Series>& counters, std::size_t most) {
  const std::size_t lags = 2 * most + most / 5 + 3;
  Correlations sum;
  double scale = 0, counted = 0;
  for (const Series& counter : counters) {
    const Series whole = autocorrelation(counter, lags);
    if (whole.empty()) continue;
    const double peak = highest(peaks_of(whole));
    if (peak < kPeak) continue;
    const std::span<const double> values = counter;
    const Series first = autocorrelation(values.first(values.size() / 2), most + most / 5 + 3);
    const Series second = autocorrelation(values.subspan(values.size() / 2), most + most / 5 + 3);
    if (first.empty() || second.empty()) return {};
    scale += peak;
    ++counted;
    for (const auto& [to, from] : {std::pair{&sum.whole, &whole}, {&sum.first, &first}, {&sum.second, &second}}) {
      to->resize(from->size());
      for (std::size_t i = 0; i < from->size(); ++i) (*to)[i] += (*from)[i];
    }
  }
  for (Series* const series : {&sum.whole, &sum.first, &sum.second})
    for (double& value : *series) value /= scale;
  // Bartlett's formula, with the lags at which values are similar because they are neighbours.
  double squares = 1;
  for (std::size_t lag = 1; lag < sum.whole.size() && sum.whole[lag] > 0; ++lag)
    squares += 2 * std::pow(sum.whole[lag] * scale / counted, 2);
  if (scale > 0) sum.chance = std::sqrt(squares / static_cast<double>(counters[0].size())) * counted / scale;
  return sum;
}

// Later peaks, at multiples of the period, are more exact.
double refined(const Series& values, Peak peak) {
  double period = peak.lag;
  for (int n = 2;; ++n) {
    const double center = n * period, radius = std::max(1.5, 0.1 * period);
    if (center + radius + 2 > static_cast<double>(values.size())) return period;
    const Peak next = peak_near(values, center, radius);
    if (next.height < 0.7 * peak.height) return period;
    period = next.lag / n;
  }
}

struct Period {
  double intervals = 0;    // 0: none
  bool ambiguous = false;  // there are several
};

Period period_in(const Correlations& of, std::size_t shortest, std::size_t most) {
  const Series& whole = of.whole;
  if (whole.empty()) return {};
  const std::vector<Peak> peaks = peaks_of(whole);
  const double top = highest(peaks);
  const auto found = std::ranges::find_if(peaks, [&](const Peak& peak) { return peak.height >= kEqual * top; });
  if (top < kChance * of.chance || found == peaks.end()) return {};
  const auto [period, height] = *found;
  const auto lag = static_cast<std::size_t>(std::lround(period));
  if (lag < shortest) return {0, true};

  for (const Peak& peak : peaks) {
    const double ratio = peak.lag / period;
    const bool is_multiple = ratio > 0.9 && std::abs(ratio - std::round(ratio)) * period < 1.5 + 0.06 * ratio * period;
    if (!is_multiple && peak.height > (ratio < 0.9 ? kPart : kClear) * height) return {0, true};
  }
  if (found->lag > static_cast<double>(most) || least(whole, 1, lag) > kDip * height) return {};
  const Peak again = peak_near(whole, 2 * period, 1 + 0.1 * period);
  if (again.height < kAgain * height) return {};
  if (least(whole, lag, static_cast<std::size_t>(again.lag)) > again.height - 0.5 * kAgain * height) return {};
  for (const Series* const half : {&of.first, &of.second}) {
    const Peak peak = peak_near(*half, period, 0.2 * period);
    if (std::abs(peak.lag - period) > 1 + 0.05 * period || peak.height < kHalf * height) return {};
  }
  return {refined(whole, *found)};
}

}  // namespace

std::optional<double> step_period(const ThreadSeries& series) {
  const std::size_t size = series.counters.empty() ? 0 : series.counters[0].size(), most = size / kFewestPeriodSteps;
  if (most <= kShortestPeriod) return std::nullopt;
  std::vector<Series> counters;
  for (const Series& counter : series.counters) {
    Series values = prepared(counter, most);
    if (!values.empty()) counters.push_back(std::move(values));
  }
  for (const std::size_t width : kWidths) {
    const std::size_t shortest = std::max(kShortestPeriod, 3 * width / 2);
    std::vector<Series> smooth = counters;
    for (Series& values : smooth) values = moving_mean(values, width / 2);
    const auto [period, ambiguous] = period_in(correlations_of(smooth, most), shortest, most);
    if (ambiguous) return std::nullopt;
    if (period > 0) return period * series.interval_s;
  }
  return std::nullopt;
}

}  // namespace unstarve
