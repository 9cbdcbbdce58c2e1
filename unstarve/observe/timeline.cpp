#include "unstarve/observe/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace unstarve {
namespace {

// The time in which the lane has at least one event.
double busy_seconds(const Timeline& timeline, int lane) {
  std::vector<std::pair<double, double>> times;
  for (const TimelineSpan& span : timeline.spans)
    if (span.lane == lane) times.emplace_back(span.begin_s, span.begin_s + span.seconds);
  std::ranges::sort(times);
  double busy = 0, until = 0;
  for (const auto& [begin, end] : times) {
    busy += std::max(end - std::max(begin, until), 0.0);
    until = std::max(until, end);
  }
  return busy;
}

// Nanoseconds are sufficient.
double rounded(double seconds) { return std::round(seconds * 1e9) / 1e9; }

}  // namespace

std::string in_words(const Timeline& timeline) {
  std::string words = fmt::format("{}: {:.3g} ms.", timeline.title, 1e3 * timeline.seconds);
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    words += fmt::format(" {}: events in {:.3g} ms.", timeline.lanes[lane],
                         1e3 * busy_seconds(timeline, static_cast<int>(lane)));
  }
  return words;
}

nlohmann::json island_of(const Timeline& timeline) {
  using nlohmann::json;
  json spans = json::array();
  for (const TimelineSpan& span : timeline.spans)
    spans.push_back(json::array({span.lane, span.name, span.kind, rounded(span.begin_s), rounded(span.seconds)}));
  return {{"seconds", timeline.seconds}, {"lanes", timeline.lanes}, {"names", timeline.names},
          {"kinds", timeline.kinds},     {"marks", timeline.marks}, {"spans", std::move(spans)}};
}

}  // namespace unstarve
