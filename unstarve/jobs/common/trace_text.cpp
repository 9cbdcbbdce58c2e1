#include "unstarve/jobs/common/trace_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "unstarve/core/statistics.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

constexpr std::size_t kShownNames = 5;

std::string milliseconds(double seconds) { return fmt::format("{:.2f} ms", 1e3 * seconds); }

std::string parts_of(const TraceUse& trace) {
  const double steps = std::max(static_cast<double>(trace.steps.size()), 1.0);
  std::string text = fmt::format("\n{:<16} {:>14} {:>8}\n", "part", trace.steps.empty() ? "time" : "per step", "share");
  for (std::size_t part = 0; part < kStepActivities; ++part) {
    if (trace.parts[part] <= 0) continue;
    text += fmt::format("{:<16} {:>14} {:>7.1f}%\n", to_string(static_cast<StepActivity>(part)),
                        milliseconds(trace.parts[part] / steps), 100 * trace.parts[part] / trace.analysed_s);
  }
  return text;
}

std::string devices_of(const TraceUse& trace) {
  std::string text;
  for (const DeviceUse& device : trace.devices) {
    text += fmt::format("device {}{}: busy for {:.1f} % of the time\n", device.index,
                        device.name.empty() ? "" : fmt::format(" ({})", printable(device.name)),
                        100 * device.busy_s / trace.analysed_s);
  }
  return text.empty() ? text : "\n" + text;
}

std::string names_of(const char* title, const std::vector<NamedTime>& names, const TraceUse& trace) {
  if (names.empty()) return "";
  std::string text = fmt::format("\n{:<60} {:>9} {:>8}\n", title, "count", "share");
  for (std::size_t i = 0; i < std::min(names.size(), kShownNames); ++i) {
    text += fmt::format("{} {:>9} {:>7.1f}%\n", pad_right(clip(printable(names[i].name), 60), 60), names[i].count,
                        100 * names[i].seconds / trace.analysed_s);
  }
  return text;
}

std::string source_of(const TraceUse& trace) {
  std::vector<double> seconds;
  for (const TraceStep& step : trace.steps) seconds.push_back(step.seconds);
  return fmt::format("\n{} trace: {}; {} analysed of {}; {} events\n", trace.format,
                     seconds.empty()
                         ? "no steps"
                         : fmt::format("{} steps of {} (median)", seconds.size(), milliseconds(median(seconds))),
                     milliseconds(trace.analysed_s), milliseconds(trace.observed_s), trace.events);
}

}  // namespace

std::string trace_to_text(const TraceUse& trace) {
  if (trace.analysed_s <= 0) return "";
  return parts_of(trace) + devices_of(trace) +
         (trace.kernels.empty() ? names_of("operator on the CPU", trace.operators, trace)
                                : names_of("kernel", trace.kernels, trace)) +
         source_of(trace);
}

}  // namespace unstarve
