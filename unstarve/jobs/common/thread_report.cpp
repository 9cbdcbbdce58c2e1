#include "unstarve/jobs/common/thread_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/observe/format.h"

namespace unstarve {

Timeline timeline_of(const ThreadWindow& window) {
  Timeline timeline;
  if (window.spans.empty()) return timeline;
  timeline.title = window.steps.empty() ? fmt::format("Threads from {:.1f} s on", window.begin_s)
                                        : fmt::format("Threads in {} typical steps from {:.1f} s on, by {}",
                                                      window.steps.size(), window.begin_s, window.step_source);
  timeline.title +=
      fmt::format(", sampled every {:.1f} ms: shorter changes are not visible", 1e3 * window.resolution_s);
  timeline.seconds = window.seconds;
  timeline.marks = window.steps;
  for (std::size_t state = 0; state < kThreadStates; ++state)
    timeline.kinds.emplace_back(to_string(static_cast<ThreadState>(state)));
  timeline.names = timeline.kinds;
  if (!window.steps.empty()) {
    timeline.lanes.emplace_back("steps");
    timeline.kinds.emplace_back("step");
  }
  const auto first = static_cast<int>(timeline.lanes.size());
  for (std::size_t i = 0; i < window.steps.size(); ++i) {
    const double end = i + 1 < window.steps.size() ? window.steps[i + 1] : window.seconds;
    timeline.spans.push_back({0, static_cast<int>(timeline.names.size()), static_cast<int>(kThreadStates),
                              window.steps[i], std::max(end - window.steps[i], 0.0)});
    timeline.names.push_back(fmt::format("step {}", i + 1));
  }
  for (const std::string& lane : window.lanes) timeline.lanes.push_back(printable(lane));
  for (const ThreadSpan& span : window.spans) {
    const auto state = static_cast<int>(span.state);
    timeline.spans.push_back({first + span.lane, state, state, span.begin_s, span.seconds});
  }
  return timeline;
}

}  // namespace unstarve
