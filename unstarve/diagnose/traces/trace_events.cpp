#include "unstarve/diagnose/traces/trace_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace unstarve {

void TraceEvents::reject(std::string problem) {
  ++malformed.count;
  if (malformed.examples.size() < kMostMalformedExamples) malformed.examples.push_back(std::move(problem));
}

void TraceEvents::reject_outliers() {
  constexpr std::size_t kMost = 100'000;  // of which the median is computed
  std::vector<TraceEvent>& all = events();
  if (all.empty()) return;
  std::vector<std::int64_t> begins;
  const std::size_t stride = all.size() / kMost + 1;
  for (std::size_t i = 0; i < all.size(); i += stride) begins.push_back(all[i].begin_ns);
  const auto middle = begins.begin() + static_cast<std::ptrdiff_t>(begins.size() / 2);
  std::ranges::nth_element(begins, middle);
  const std::int64_t median = *middle;
  std::erase_if(all, [&](const TraceEvent& event) {
    if (event.begin_ns >= median - kLongestTrace && event.end_ns <= median + kLongestTrace) return false;
    reject(fmt::format(
        "event \"{}\": found {:.0f} to {:.0f} s; expected times within a day of the other events, at {:.0f} s",
        name(event.name), 1e-9 * static_cast<double>(event.begin_ns), 1e-9 * static_cast<double>(event.end_ns),
        1e-9 * static_cast<double>(median)));
    return true;
  });
}

}  // namespace unstarve
