#include "unstarve/jobs/common/trace_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "unstarve/core/statistics.h"
#include "unstarve/jobs/common/report_parts.h"
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

// Of every process with kernels: process, rank, kernels, steps, milliseconds per step, busy, highest level and growth
// of device memory, why no (more) kernels were recorded. Unknown: empty.
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

constexpr std::size_t kLongestName = 160;

// The mean of the steps of at least `least` seconds.
Bar mean_step(const TraceUse& trace, const char* name, double least) {
  Bar bar;
  bar.name = name;
  double steps = 0, sum = 0;
  PartSeconds parts{};
  for (const TraceStep& step : trace.steps) {
    if (step.seconds < least) continue;
    ++steps;
    sum += step.seconds;
    for (std::size_t part = 0; part < kStepActivities; ++part) parts[part] += step.parts[part];
  }
  for (std::size_t part = 0; part < kStepActivities; ++part)
    if (parts[part] > 0) bar.parts.push_back({to_string(static_cast<StepActivity>(part)), 1e3 * parts[part] / steps});
  bar.figure = fmt::format("{} ms", format_rate(1e3 * sum / steps));
  return bar;
}

BarChart split_chart(const TraceUse& trace) {
  constexpr std::size_t kFewestForTenth = 10;
  BarChart chart;
  chart.unit = "ms";
  if (trace.steps.empty()) {
    chart.title = "Parts of the whole time";
    Bar bar{"all", fmt::format("{} ms", format_rate(1e3 * trace.analysed_s)), {}};
    for (std::size_t part = 0; part < kStepActivities; ++part)
      if (trace.parts[part] > 0)
        bar.parts.push_back({to_string(static_cast<StepActivity>(part)), 1e3 * trace.parts[part]});
    chart.bars = {std::move(bar)};
    return chart;
  }
  chart.title = "Time per step by part: each moment counts to the first active part";
  chart.bars = {mean_step(trace, "mean", 0)};
  const std::vector<double> seconds = step_seconds_of(trace);
  if (seconds.size() >= kFewestForTenth)
    chart.bars.push_back(mean_step(trace, "90th percentile", quantile(seconds, 0.9)));
  return chart;
}

// Parts that take at least 1 % of the time, over the steps.
CurveChart parts_chart(const TraceUse& trace) {
  CurveChart chart = steps_chart("Parts of each step, ms");
  for (std::size_t part = 0; part < kStepActivities; ++part) {
    if (trace.parts[part] < 0.01 * trace.analysed_s) continue;
    std::vector<double> seconds;
    for (const TraceStep& step : trace.steps) seconds.push_back(step.parts[part]);
    add_curve(chart, to_string(static_cast<StepActivity>(part)), seconds, 1, 1e3);
  }
  return chart;
}

// "3 µs", "0.3 s"
std::string gap_end_text(double seconds) {
  if (seconds < 0.9e-3) return fmt::format("{:.3g} µs", 1e6 * seconds);
  return seconds < 0.9 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} s", seconds);
}

// Milliseconds in gaps of each length; bins at the ends without gaps are left out.
BarChart gaps_chart(const IdleGaps& gaps) {
  BarChart chart;
  chart.title = "Time in which all accelerators are idle, by the length of the gap: ms, number of gaps";
  chart.unit = "ms";
  for (std::size_t bin = 0; bin < gaps.count.size(); ++bin) {
    const bool before = std::all_of(gaps.count.begin(), gaps.count.begin() + static_cast<std::ptrdiff_t>(bin + 1),
                                    [](std::int64_t count) { return count == 0; });
    const bool after = std::all_of(gaps.count.begin() + static_cast<std::ptrdiff_t>(bin), gaps.count.end(),
                                   [](std::int64_t count) { return count == 0; });
    if (before || after) continue;
    const std::string name = bin == kGapEnds.size() ? "from " + gap_end_text(kGapEnds.back()) + " on"
                                                    : "below " + gap_end_text(kGapEnds[bin]);
    chart.bars.push_back(plain_bar(name, 1e3 * gaps.seconds[bin],
                                   fmt::format("{} ms, {}", format_rate(1e3 * gaps.seconds[bin]), gaps.count[bin])));
  }
  return chart;
}

Timeline timeline_of(const TraceWindow& window) {
  Timeline timeline;
  timeline.title = window.steps.empty() ? "Timeline" : fmt::format("Timeline of {} typical steps", window.steps.size());
  if (window.left_out > 0)
    timeline.title +=
        fmt::format(": the {} longest events, without {} shorter ones", window.spans.size(), window.left_out);
  timeline.seconds = window.seconds;
  timeline.lanes = window.lanes;
  for (const std::string& name : window.names) timeline.names.push_back(clip(printable(name), kLongestName));
  for (std::size_t part = 0; part < kStepActivities; ++part)
    timeline.kinds.emplace_back(to_string(static_cast<StepActivity>(part)));
  timeline.marks = window.steps;
  for (const WindowSpan& span : window.spans)
    timeline.spans.push_back({span.lane, span.name, static_cast<int>(span.part), span.begin_s, span.seconds});
  return timeline;
}

FiguresTable devices_table(const TraceUse& trace) {
  FiguresTable table{"Accelerators, share of the time",
                     {"device", "busy", "kernels", "tensor cores", "copies", "collectives", "name"},
                     {},
                     false,
                     true};
  for (const DeviceUse& device : trace.devices) {
    const auto share = [&](double seconds) { return format_percent(seconds / trace.analysed_s); };
    table.rows.push_back({std::to_string(device.index), share(device.busy_s), share(device.kernel_s),
                          share(device.tensor_core_s), share(device.copy_s), share(device.collective_s), device.name});
  }
  return table;
}

FiguresTable processes_with_kernels(const TraceUse& trace) {
  return {fmt::format("Processes with kernels; charts and all other values of kernels are for process {}",
                      trace.processes.front().pid),
          {"process", "rank", "kernels", "steps", "ms per step", "busy", "memory", "growth per step", "not recorded"},
          kernel_process_rows(trace),
          false,
          true};
}

FiguresTable copies_table(const TraceUse& trace) {
  FiguresTable table{"Copies", {"direction", "number", "bytes", "ms", "overlapped", "host memory"}, {}, false, true};
  for (const CopyUse& copy : trace.copies) {
    table.rows.push_back({to_string(copy.direction), std::to_string(copy.count),
                          format_bytes(static_cast<std::uint64_t>(std::max(copy.bytes, std::int64_t{0}))),
                          format_rate(1e3 * copy.seconds),
                          copy.seconds > 0 ? format_percent(copy.overlapped_s / copy.seconds) : "",
                          to_string(copy.host_memory)});
  }
  return table;
}

FiguresTable names_table(const char* caption, const std::vector<NamedTime>& names, double whole) {
  FiguresTable table{caption, {"share", "count", "ms", "name"}, {}, false, false};
  for (const NamedTime& each : names) {
    table.rows.push_back({format_percent(each.seconds / whole), std::to_string(each.count),
                          format_rate(1e3 * each.seconds), clip(printable(each.name), kLongestName)});
  }
  return table;
}

}  // namespace

std::vector<std::string> malformed_notes(const MalformedEvents& malformed) {
  if (malformed.count == 0) return {};
  std::vector<std::string> notes{fmt::format("malformed events that were left out: {}", malformed.count)};
  for (const std::string& example : malformed.examples) notes.push_back(printable(example));
  return notes;
}

std::string trace_to_text(const TraceUse& trace) {
  if (trace.analysed_s <= 0) return "";
  return parts_of(trace) + devices_of(trace) + memory_of(trace) + unified_of(trace) +
         (trace.kernels.empty() ? names_of("operator on the CPU", trace.operators, trace)
                                : names_of("kernel", trace.kernels, trace)) +
         source_of(trace) + processes_of(trace) + malformed_of(trace);
}

std::vector<double> step_seconds_of(const TraceUse& trace) {
  std::vector<double> seconds;
  for (const TraceStep& step : trace.steps) seconds.push_back(step.seconds);
  return seconds;
}

void add_trace(CurveSection& section, const TraceUse& trace) {
  if (trace.analysed_s <= 0) return;
  for (BarChart& chart : std::array{split_chart(trace), gaps_chart(trace.gaps)})
    if (!chart.bars.empty()) section.bars.push_back(std::move(chart));
  if (trace.steps.size() >= 2) section.charts.push_back(parts_chart(trace));
  if (trace.memory.levels.size() >= 2) {
    CurveChart chart = steps_chart("Device memory from CUDA: the most in each step, above the least in its window, MB");
    add_curve(chart, "memory", trace.memory.levels, 1, 1e-6);
    section.charts.push_back(std::move(chart));
  }
  if (!trace.window.spans.empty()) section.timelines.push_back(timeline_of(trace.window));
  if (trace.processes.size() > 1) section.tables.push_back(processes_with_kernels(trace));
  if (!trace.devices.empty()) section.tables.push_back(devices_table(trace));
  if (!trace.copies.empty()) section.tables.push_back(copies_table(trace));
  if (!trace.kernels.empty()) section.tables.push_back(names_table("Kernels", trace.kernels, trace.analysed_s));
  if (!trace.operators.empty())
    section.tables.push_back(
        names_table("Operators on the CPU, without the operators that they call", trace.operators, trace.analysed_s));
}

}  // namespace unstarve
