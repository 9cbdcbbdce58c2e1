// What the pages of diagnose and watch show of a trace.

#include "unstarve/jobs/common/trace_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "unstarve/core/statistics.h"
#include "unstarve/jobs/common/report_parts.h"
#include "unstarve/jobs/common/trace_text.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

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
    chart.bars.push_back(mean_step(trace, "slowest tenth", quantile(seconds, 0.9)));
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
