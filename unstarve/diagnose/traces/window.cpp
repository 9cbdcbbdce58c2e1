#include "unstarve/diagnose/traces/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace unstarve {
namespace {

struct WindowEvent {
  Interval time;
  TraceEvent event;
};

double length_of(const Interval& interval) { return static_cast<double>(interval.end - interval.begin); }

StepActivity part_of(TraceActivity activity) {
  switch (activity) {
    case TraceActivity::kKernel: return StepActivity::kKernel;
    case TraceActivity::kCollective: return StepActivity::kCommunication;
    case TraceActivity::kCopy: return StepActivity::kCopy;
    case TraceActivity::kMemset: return StepActivity::kMemset;
    case TraceActivity::kLaunch:
    case TraceActivity::kCopyCall:
    case TraceActivity::kSynchronisation:
    case TraceActivity::kAllocation:
    case TraceActivity::kRuntimeCall: return StepActivity::kRuntime;
    case TraceActivity::kLoader: return StepActivity::kLoader;
    case TraceActivity::kOperator: return StepActivity::kOperator;
    default: return StepActivity::kOther;
  }
}

// "4711/4712" -> "4712", "stream 7" -> "7": the number of a thread or stream.
std::string last_number(const std::string& lane) {
  const std::size_t at = lane.find_last_of("/ ");
  return at == std::string::npos ? lane : lane.substr(at + 1);
}

// Gives the names and lanes of a window their indices.
class WindowBuilder {
 public:
  WindowBuilder(const TraceEvents& events, std::uint32_t main) : events_(events), main_(main) {}

  void add(TraceWindow& window, const WindowEvent& one, std::int64_t begin_ns) {
    const TraceEvent& event = one.event;
    const bool on_device = event.activity <= TraceActivity::kMemset;
    const auto lane =
        lanes_.try_emplace({on_device ? event.device + 1 : 0, event.lane}, static_cast<int>(window.lanes.size()));
    if (lane.second) window.lanes.push_back(lane_name(event, on_device));
    const auto name = names_.try_emplace(event.name, static_cast<int>(window.names.size()));
    if (name.second) window.names.push_back(events_.name(event.name));
    window.spans.push_back({lane.first->second, name.first->second, part_of(event.activity),
                            1e-9 * static_cast<double>(one.time.begin - begin_ns), 1e-9 * length_of(one.time)});
  }

 private:
  [[nodiscard]] std::string lane_name(const TraceEvent& event, bool on_device) const {
    const std::string number = last_number(events_.lane(event.lane));
    if (on_device) return fmt::format("device {}, stream {}", event.device, number);
    return event.lane == main_ ? "main thread" : "thread " + number;
  }

  const TraceEvents& events_;
  std::uint32_t main_;
  std::map<std::pair<int, std::uint32_t>, int> lanes_;
  std::map<std::uint32_t, int> names_;
};

}  // namespace

std::size_t typical_step(const std::vector<Interval>& steps, std::size_t count) {
  if (steps.size() <= count) return 0;
  std::vector<double> lengths;
  for (const Interval& step : steps) lengths.push_back(length_of(step));
  std::vector<double> sorted = lengths;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  std::size_t best = 0;
  double least = -1;
  for (std::size_t i = 0; i + count <= steps.size(); ++i) {
    double distance = 0;
    for (std::size_t j = i; j < i + count; ++j) {
      distance += std::abs(lengths[j] - *middle);
      if (j > i) distance += static_cast<double>(steps[j].begin - steps[j - 1].end);  // a pause
    }
    if (least >= 0 && distance >= least) continue;
    least = distance;
    best = i;
  }
  return best;
}

TraceWindow window_of(const TraceEvents& events, const TraceSteps& steps, std::uint32_t main,
                      const std::set<std::uint32_t>& launching) {
  TraceWindow window;
  if (steps.windows.empty()) return window;
  const std::size_t first = typical_step(steps.windows);
  const std::size_t last = std::min(first + kWindowSteps, steps.windows.size()) - 1;
  const Interval whole{steps.windows[first].begin, steps.windows[last].end};
  window.seconds = 1e-9 * length_of(whole);
  if (steps.found)
    for (std::size_t i = first; i <= last; ++i)
      window.steps.push_back(1e-9 * static_cast<double>(steps.windows[i].begin - whole.begin));

  std::vector<WindowEvent> inside;
  for (const TraceEvent& event : events.events()) {
    const bool on_device = event.activity <= TraceActivity::kMemset;
    if (event.activity >= TraceActivity::kStep || (!on_device && !launching.contains(event.lane))) continue;
    const Interval time{std::max(event.begin_ns, whole.begin), std::min(event.end_ns, whole.end)};
    if (time.begin < time.end) inside.push_back({time, event});
  }
  if (inside.size() > kMostSpans) {
    window.left_out = static_cast<std::int64_t>(inside.size() - kMostSpans);
    const auto end = inside.begin() + static_cast<std::ptrdiff_t>(kMostSpans);
    std::nth_element(inside.begin(), end, inside.end(),
                     [](const WindowEvent& a, const WindowEvent& b) { return length_of(a.time) > length_of(b.time); });
    inside.erase(end, inside.end());
  }
  // The main thread, other threads, devices.
  const auto order = [&](const WindowEvent& one) {
    const bool on_device = one.event.activity <= TraceActivity::kMemset;
    return std::tuple(on_device ? one.event.device + 1 : 0, !on_device && one.event.lane == main ? 0 : 1,
                      one.event.lane, one.time.begin, -one.time.end);
  };
  std::ranges::sort(inside, [&](const WindowEvent& a, const WindowEvent& b) { return order(a) < order(b); });
  WindowBuilder builder(events, main);
  for (const WindowEvent& one : inside) builder.add(window, one, whole.begin);
  return window;
}

}  // namespace unstarve
