#include "unstarve/diagnose/traces/steps.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "unstarve/diagnose/traces/activity_names.h"

namespace unstarve {
namespace {

constexpr std::size_t kStepsForWarmUp = 4;
constexpr double kPause = 10;  // median steps

struct StepRanges {
  std::vector<Interval> list;
  std::uint32_t lane = 0;
};

void remove_nested(std::vector<Interval>& ranges) {
  std::ranges::sort(
      ranges, [](const Interval& a, const Interval& b) { return std::tie(a.begin, b.end) < std::tie(b.begin, a.end); });
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  std::erase_if(ranges, [&](const Interval& range) {
    const bool nested = range.end <= end;
    end = std::max(end, range.end);
    return nested;
  });
}

// The most numerous ranges of one activity that have the same lane and name.
StepRanges most_numerous(TraceEvents& events, TraceActivity activity) {
  std::map<std::pair<std::uint32_t, std::string>, std::vector<Interval>> groups;
  for (const TraceEvent& event : events.events()) {
    if (event.activity == activity)
      groups[{event.lane, range_stem(events.name(event.name))}].push_back({event.begin_ns, event.end_ns});
  }
  StepRanges most;
  for (auto& [key, ranges] : groups) {
    remove_nested(ranges);
    if (ranges.size() > most.list.size()) most = {std::move(ranges), key.first};
  }
  return most;
}

double median_length(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

// Whether everything between both times was recorded.
bool is_recorded(const std::vector<Interval>& recorded, std::int64_t begin, std::int64_t end) {
  return recorded.empty() || std::ranges::any_of(recorded, [&](const Interval& window) {
           return window.begin <= begin && end <= window.end;
         });
}

// Extends each range to the begin of the next one. Precondition: at least two ranges.
void make_contiguous(std::vector<Interval>& ranges, const std::vector<Interval>& recorded) {
  std::vector<std::int64_t> lengths, distances;
  for (const Interval& range : ranges) lengths.push_back(range.end - range.begin);
  for (std::size_t i = 1; i < ranges.size(); ++i) distances.push_back(ranges[i].begin - ranges[i - 1].begin);
  const double length = median_length(std::move(lengths)), distance = median_length(std::move(distances));
  for (std::size_t i = 0; i + 1 < ranges.size(); ++i) {
    const auto pause = static_cast<double>(ranges[i + 1].begin - ranges[i].end);
    if (pause <= kPause * std::max(length, distance) && is_recorded(recorded, ranges[i].end, ranges[i + 1].begin))
      ranges[i].end = ranges[i + 1].begin;
  }
  // What follows the last range belongs to its step, too, but is not in the trace.
  if (ranges.size() >= 3 && distance > 1.01 * length) ranges.pop_back();
}

}  // namespace

TraceSteps steps_of(TraceEvents& events, Interval observed) {
  TraceSteps steps;
  for (const TraceActivity activity : {TraceActivity::kStep, TraceActivity::kPossibleStep}) {
    StepRanges ranges = most_numerous(events, activity);
    if (ranges.list.size() < 2) continue;
    make_contiguous(ranges.list, events.recorded);
    if (ranges.list.size() >= kStepsForWarmUp) ranges.list.erase(ranges.list.begin());
    if (ranges.list.size() > kMostSteps) ranges.list.resize(kMostSteps);
    steps.windows = std::move(ranges.list);
    steps.lane = ranges.lane;
    steps.found = true;
    return steps;
  }
  steps.windows = events.recorded.empty() ? std::vector<Interval>{observed} : events.recorded;
  return steps;
}

}  // namespace unstarve
