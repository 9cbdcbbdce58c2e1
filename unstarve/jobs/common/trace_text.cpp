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

std::string bytes_text(double bytes) { return format_bytes(static_cast<std::uint64_t>(std::max(bytes, 0.0))); }

std::string memory_of(const TraceUse& trace) {
  const MemoryUse& memory = trace.memory;
  if (memory.allocations + memory.releases == 0) return "";
  const double steps = std::max(static_cast<double>(trace.steps.size()), 1.0);
  const auto allocations = static_cast<double>(memory.allocations), releases = static_cast<double>(memory.releases);
  std::string text = fmt::format(
      "\ndevice memory from CUDA: {} allocations of {} and {} releases{}; at most {} above the minimum of a window",
      format_rate(allocations / steps), bytes_text(static_cast<double>(memory.allocated_bytes) / steps),
      format_rate(releases / steps), trace.steps.empty() ? "" : " per step",
      bytes_text(static_cast<double>(memory.peak_bytes)));
  if (memory.growth_bytes >= 1) text += fmt::format("; grows by {} per step", bytes_text(memory.growth_bytes));
  return text + "\n";
}

std::string unified_of(const TraceUse& trace) {
  const UnifiedMemoryUse& unified = trace.unified;
  if (!unified.used()) return "";
  const double steps = std::max(static_cast<double>(trace.steps.size()), 1.0);
  return fmt::format("\nunified memory: {} page faults of devices and {} of the host{}; kernels wait for {}\n",
                     format_rate(static_cast<double>(unified.gpu_faults) / steps),
                     format_rate(static_cast<double>(unified.cpu_faults) / steps),
                     trace.steps.empty() ? "" : " per step", milliseconds(unified.stalled_s / steps));
}

std::string processes_of(const TraceUse& trace) {
  if (trace.processes.size() < 2) return "";
  std::string text;
  for (const std::vector<std::string>& row : kernel_process_rows(trace)) {
    text += fmt::format("{:>8} {:>5} {:>9} {:>7} {:>10} {:>7} {:>12} {:>12}  {}\n", row[0], row[1], row[2], row[3],
                        row[4], row[5], row[6], row[7], row[8]);
  }
  return fmt::format("\n{:>8} {:>5} {:>9} {:>7} {:>10} {:>7} {:>12} {:>12}\n{}the values above are for process {}\n",
                     "process", "rank", "kernels", "steps", "ms", "busy", "memory", "growth", text,
                     trace.processes.front().pid);
}

std::string malformed_of(const TraceUse& trace) {
  std::string text;
  for (const std::string& note : malformed_notes(trace.malformed)) text += (text.empty() ? "\n" : "  ") + note + "\n";
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

std::vector<std::string> malformed_notes(const MalformedEvents& malformed) {
  if (malformed.count == 0) return {};
  std::vector<std::string> notes{fmt::format("malformed events that were left out: {}", malformed.count)};
  for (const std::string& example : malformed.examples) notes.push_back(printable(example));
  return notes;
}

std::vector<std::vector<std::string>> kernel_process_rows(const TraceUse& trace) {
  std::vector<std::vector<std::string>> rows;
  for (const ProcessKernels& process : trace.processes) {
    const auto known = [&](std::string text) { return process.kernels > 0 ? std::move(text) : std::string(); };
    const bool steps = process.steps > 0;
    rows.push_back({std::to_string(process.pid), process.rank < 0 ? "" : std::to_string(process.rank),
                    std::to_string(process.kernels), known(std::to_string(process.steps)),
                    steps ? format_rate(1e3 * process.step_s) : "", known(format_percent(process.busy_share)),
                    known(bytes_text(static_cast<double>(process.peak_memory))),
                    steps ? bytes_text(process.memory_growth) : "", printable(process.missing)});
  }
  return rows;
}

std::string trace_to_text(const TraceUse& trace) {
  if (trace.analysed_s <= 0) return "";
  return parts_of(trace) + devices_of(trace) + memory_of(trace) + unified_of(trace) +
         (trace.kernels.empty() ? names_of("operator on the CPU", trace.operators, trace)
                                : names_of("kernel", trace.kernels, trace)) +
         source_of(trace) + processes_of(trace) + malformed_of(trace);
}

}  // namespace unstarve
