#include "unstarve/diagnose/ranks/clock_offset.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "unstarve/core/statistics.h"

namespace unstarve {
namespace {

constexpr std::size_t kFewest = 8;     // pairs of ends
constexpr std::size_t kCompared = 48;  // latest ends, by which shifts are compared
constexpr std::int64_t kLongestShift = 64;
constexpr double kTolerance = 0.1;      // of a step
constexpr double kLargestDrift = 1e-3;  // clocks of computers drift by less than 1e-4

struct Pair {
  double time, difference;
};

// The end of step `number` is at ends[number - begin].
struct NumberedEnds {
  std::span<const double> ends;
  std::int64_t begin = 0;
  explicit NumberedEnds(const RankSteps& steps)
      : ends(steps.ends_s), begin(steps.count - static_cast<std::int64_t>(steps.ends_s.size())) {}
  [[nodiscard]] std::int64_t end() const { return begin + static_cast<std::int64_t>(ends.size()); }
  [[nodiscard]] double operator[](std::int64_t number) const { return ends[static_cast<std::size_t>(number - begin)]; }
};

// Step n of `a` with step n + shift of `b`; the latest `most` pairs.
std::vector<Pair> pairs_of(const NumberedEnds& a, const NumberedEnds& b, std::int64_t shift, std::size_t most) {
  std::vector<Pair> pairs;
  const std::int64_t last = std::min(a.end(), b.end() - shift), first = std::max(a.begin, b.begin - shift);
  for (std::int64_t n = std::max(first, last - static_cast<std::int64_t>(most)); n < last; ++n)
    pairs.push_back({a[n], b[n + shift] - a[n]});
  return pairs;
}

double median_difference(const std::vector<Pair>& pairs) {
  std::vector<double> values;
  for (const Pair& pair : pairs) values.push_back(pair.difference);
  return median(values);
}

double spread_of(const std::vector<Pair>& pairs) {
  const double middle = median_difference(pairs);
  std::vector<double> values;
  for (const Pair& pair : pairs) values.push_back(std::abs(pair.difference - middle));
  return median(values);
}

// Between the medians of the first and the last third.
double drift_of(const std::vector<Pair>& pairs) {
  const auto third = static_cast<std::ptrdiff_t>(pairs.size() / 3);
  const std::vector<Pair> begin(pairs.begin(), pairs.begin() + third), end(pairs.end() - third, pairs.end());
  std::vector<double> begin_times, end_times;
  for (const Pair& pair : begin) begin_times.push_back(pair.time);
  for (const Pair& pair : end) end_times.push_back(pair.time);
  const double seconds = median(end_times) - median(begin_times);
  return seconds > 0 ? (median_difference(end) - median_difference(begin)) / seconds : 0;
}

// The shift with the smallest spread if it is clear: steps of equal length fit at every shift.
std::optional<std::int64_t> best_shift(const NumberedEnds& a, const NumberedEnds& b, double step_s) {
  if (const auto pairs = pairs_of(a, b, 0, kCompared);
      pairs.size() >= kFewest && spread_of(pairs) < kTolerance * step_s)
    return 0;
  std::vector<std::pair<double, std::int64_t>> shifts;
  for (std::int64_t shift = -kLongestShift; shift <= kLongestShift; ++shift)
    if (const auto pairs = pairs_of(a, b, shift, kCompared); pairs.size() >= kFewest)
      shifts.emplace_back(spread_of(pairs), shift);
  if (shifts.empty()) return std::nullopt;
  std::ranges::sort(shifts);
  if (shifts[0].first < kTolerance * step_s && shifts.size() > 1 && shifts[1].first < 2 * shifts[0].first)
    return std::nullopt;
  return shifts[0].first < kTolerance * step_s ? shifts[0].second : 0;  // not synchronised: by their counts
}

double median_step(std::span<const double> ends) {
  std::vector<double> seconds;
  for (std::size_t i = 1; i < ends.size(); ++i) seconds.push_back(ends[i] - ends[i - 1]);
  return median(seconds);
}

// Every end of `a` with the nearest one of `b`, at most half a step from `offset`: a step that only one rank has marked
// shifts the numbers of all later ones.
std::vector<Pair> nearest_pairs(std::span<const double> a, std::span<const double> b, double offset, double step_s) {
  std::vector<Pair> pairs;
  std::size_t next = 0;
  for (const double end : a) {
    while (next + 1 < b.size() && std::abs(b[next + 1] - end - offset) <= std::abs(b[next] - end - offset)) ++next;
    if (std::abs(b[next] - end - offset) <= step_s / 2) pairs.push_back({end, b[next] - end});
  }
  return pairs;
}

}  // namespace

std::optional<ClockOffset> clock_offset(const RankSteps& first, const RankSteps& second) {
  const NumberedEnds a(first), b(second);
  if (a.ends.size() < kFewest || b.ends.size() < kFewest) return std::nullopt;
  ClockOffset result;
  result.step_s = median_step(a.ends);
  if (!(result.step_s > 0)) return std::nullopt;
  const std::optional<std::int64_t> shift = best_shift(a, b, result.step_s);
  if (!shift) return std::nullopt;
  const std::vector<Pair> latest = pairs_of(a, b, *shift, kCompared);
  if (latest.size() < kFewest) return std::nullopt;
  std::vector<Pair> pairs = nearest_pairs(a.ends, b.ends, median_difference(latest), result.step_s);
  if (pairs.size() < kFewest) return std::nullopt;
  result.steps = static_cast<int>(pairs.size());
  result.seconds = median_difference(pairs);
  result.drift = drift_of(pairs);
  const double middle = pairs[pairs.size() / 2].time;
  for (Pair& pair : pairs) pair.difference -= result.drift * (pair.time - middle);
  result.spread_s = spread_of(pairs);
  const auto shared = static_cast<std::size_t>(std::ranges::count_if(a.ends, [&](double end) {
    return end + result.seconds >= b.ends.front() && end + result.seconds <= b.ends.back();
  }));
  result.synchronised = result.spread_s < kTolerance * result.step_s && std::abs(result.drift) < kLargestDrift &&
                        2 * pairs.size() >= shared;
  return result;
}

}  // namespace unstarve
