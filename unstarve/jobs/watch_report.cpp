// The text, JSON and report of watch.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

#include "unstarve/core/statistics.h"
#include "unstarve/diagnose/profile/long_steps.h"
#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/jobs/common/findings.h"
#include "unstarve/jobs/common/io_table.h"
#include "unstarve/jobs/common/lost_time.h"
#include "unstarve/jobs/common/rank_table.h"
#include "unstarve/jobs/common/report_parts.h"
#include "unstarve/jobs/common/trace_report.h"
#include "unstarve/jobs/watch.h"
#include "unstarve/observe/block_bootstrap.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

std::string verdict_of(const WatchResult& result) {
  const RunProfile& profile = result.profile;
  if (profile.processes.empty()) return "nothing was measured: watching ended " + profile.watching.stopped;
  if (profile.watching.seconds < kShortestWatch) {
    return fmt::format("the program was watched for {:.1f} s: too short for conclusions, which require {:.0f} s",
                       profile.watching.seconds, kShortestWatch);
  }
  return verdict_of(result.findings);
}

std::string memory_text(std::int64_t bytes) {
  return bytes > 0 ? format_bytes(static_cast<std::uint64_t>(bytes)) : "-";
}

bool any(const std::vector<double>& values) {
  return std::ranges::any_of(values, [](double value) { return value > 0; });
}

// The GPUs of which something is known, each as a row of texts: name, utilisation, idle, memory, clock, power.
std::vector<std::vector<std::string>> gpu_rows(const RunProfile& profile) {
  std::vector<std::vector<std::string>> rows;
  const auto of = [](double value, double most, const char* unit) {
    return value > 0 ? fmt::format("{:.0f} of {:.0f} {}", value, most, unit) : std::string("-");
  };
  for (const GpuUse& gpu : profile.gpus) {
    if (gpu.samples == 0 && !gpu.used && gpu.missing.empty()) continue;
    std::string utilisation = gpu.missing.empty() ? "not used" : "unknown";
    if (gpu.samples > 0) {
      utilisation = fmt::format("{:.0f} % ({:.0f} to {:.0f} %)", 100 * gpu.utilisation_p50, 100 * gpu.utilisation_p10,
                                100 * gpu.utilisation_p90);
    }
    rows.push_back({fmt::format("{} {}", gpu.index, gpu.name), utilisation,
                    gpu.samples > 0 ? format_percent(gpu.idle_share) : "-", memory_text(gpu.peak_memory_bytes),
                    of(gpu.clock_mhz, gpu.clock_most_mhz, "MHz"), of(gpu.power_w, gpu.power_limit_w, "W")});
  }
  return rows;
}

// Which windows of stacks are missing, if others were recorded: rules that require them find nothing.
std::vector<std::string> missing_stacks(const RunProfile& profile) {
  std::vector<std::string> reasons;
  if (profile.stacks.seconds <= 0) return reasons;
  if (profile.stacks.processes == 0 && sum_of(profile, ProcessRole::kLoader).processes > 0)
    reasons.push_back(
        "no stacks of workers were recorded: large-images and lock may have found nothing for this reason");
  if (profile.stacks.interpreter_s <= 0)
    reasons.push_back("the holder of the GIL was not recorded: python-bound and small-steps find nothing");
  return reasons;
}

// Why GPUs, or one of them, were not watched, or kernels not recorded.
std::vector<std::string> missing_gpus(const RunProfile& profile) {
  std::vector<std::string> reasons;
  if (!profile.watching.gpus_missing.empty())
    reasons.push_back("GPUs were not watched: " + profile.watching.gpus_missing);
  if (!profile.watching.kernels_missing.empty())
    reasons.push_back("kernels were not recorded: " + profile.watching.kernels_missing);
  for (const GpuUse& gpu : profile.gpus) {
    if (!gpu.missing.empty())
      reasons.push_back(fmt::format("the utilisation of GPU {} is unknown: {}", gpu.index, gpu.missing));
  }
  return reasons;
}

std::vector<CurveChart> charts_of(const RunProfile& profile) {
  const RunTimeline& timeline = profile.timeline;
  std::vector<CurveChart> charts;
  if (!timeline.main.empty()) {
    charts.push_back(time_chart("Busy cores", CurveUnit::kNumber));
    add_curve(charts.back(), "main", timeline.main, timeline.interval_s);
    if (any(timeline.loader)) add_curve(charts.back(), "loader", timeline.loader, timeline.interval_s);
    if (any(timeline.other)) add_curve(charts.back(), "other", timeline.other, timeline.interval_s);
  }
  if (!timeline.gpu.empty()) {
    charts.push_back(time_chart("GPU utilisation, %", CurveUnit::kNumber));
    charts.back().y_from = 0;
    charts.back().y_to = 100;
    add_curve(charts.back(), "mean of its GPUs", timeline.gpu, timeline.interval_s, 100);
  }
  if (any(timeline.resident_bytes)) {
    charts.push_back(time_chart("Memory of the main process", CurveUnit::kGigabyte));
    add_curve(charts.back(), "resident", timeline.resident_bytes, timeline.interval_s);
  }
  if (any(timeline.storage_bytes_per_s) || any(timeline.read_bytes_per_s)) {
    charts.push_back(time_chart("Read, MB/s", CurveUnit::kNumber));
    if (any(timeline.read_bytes_per_s))
      add_curve(charts.back(), "by the program", timeline.read_bytes_per_s, timeline.interval_s, 1e-6);
    add_curve(charts.back(), "from storage", timeline.storage_bytes_per_s, timeline.interval_s, 1e-6);
  }
  if (any(timeline.received_bytes_per_s) || any(timeline.sent_bytes_per_s)) {
    charts.push_back(time_chart("Network, MB/s", CurveUnit::kNumber));
    add_curve(charts.back(), "received", timeline.received_bytes_per_s, timeline.interval_s, 1e-6);
    add_curve(charts.back(), "sent", timeline.sent_bytes_per_s, timeline.interval_s, 1e-6);
  }
  if (profile.steps.seconds.size() >= 2) {
    CurveChart chart = steps_chart("Time per step, ms");
    add_curve(chart, "steps", profile.steps.seconds, 1, 1e3);
    charts.push_back(std::move(chart));
  }
  return charts;
}

// Stacks of one kind of threads as a graph; nothing if there are none.
void add_flame(std::vector<FlameGraph>& graphs, const PythonStacks& stacks, StackThread thread, const char* title) {
  constexpr double kLeast = 0.003;
  FlameGraph graph{title, {"all", "", 0, {}}};
  double seconds = 0;
  for (const StackUse& stack : stacks.stacks)
    if (stack.thread == thread) seconds += stack.seconds;
  if (seconds <= 0) return;
  graph.root.share = 1;
  for (const StackUse& stack : stacks.stacks) {
    if (stack.thread != thread || stack.seconds <= 0) continue;
    FlameNode* node = &graph.root;
    for (const int index : stack.lines) {
      const CodeLine& line = stacks.lines[static_cast<std::size_t>(index)];
      const std::string detail = fmt::format("{}:{}", line.file, line.line);
      const auto known = std::ranges::find_if(node->children, [&](const FlameNode& child) {
        return child.name == line.function && child.detail == detail;
      });
      if (known == node->children.end()) {
        node->children.push_back({line.function, detail, 0, {}});
        node = &node->children.back();
      } else {
        node = &*known;
      }
      node->share += stack.seconds / seconds;
    }
  }
  simplify(graph.root, kLeast);
  graphs.push_back(std::move(graph));
}

FiguresTable processes_table(const RunProfile& profile) {
  constexpr std::size_t kRows = 40;
  FiguresTable table{"Processes", {"process", "cores", "no core", "memory", "storage", "role"}, {}, false, true};
  for (const ProcessUse& process : profile.processes) {
    if (table.rows.size() == kRows) break;
    const double lived = std::max(process.end_s - process.begin_s, 1e-3);
    table.rows.push_back(
        {process.pid == 0 ? process.name + ", others" : fmt::format("{} {}", process.pid, process.name),
         fmt::format("{:.2f}", process.cpu_s / lived), format_percent(process.run_delay_s / lived),
         memory_text(process.peak_resident_bytes), process.has_io ? memory_text(process.storage_bytes) : "unknown",
         to_string(process.role)});
  }
  return table;
}

FiguresTable threads_table(const RunProfile& profile) {
  constexpr std::size_t kRows = 40;
  FiguresTable table{"Threads and their waits (seconds; threads with the same name are summed)",
                     {"thread", "number", "CPU", "no core", "locks", "files", "fsync", "pipes", "network", "events",
                      "sleep", "process"},
                     {},
                     true,
                     true};
  for (const ProcessUse& process : profile.processes) {
    for (const ThreadUse& thread : process.threads) {
      if (table.rows.size() == kRows) return table;
      std::vector<std::string> row{thread.name, std::to_string(thread.threads)};
      const ThreadWaits& waits = thread.waits;
      for (const double seconds : {thread.cpu_s, thread.run_delay_s, waits.lock_s, waits.file_s, waits.flush_s,
                                   waits.pipe_s, waits.network_s, waits.events_s, waits.sleep_s})
        row.push_back(fmt::format("{:.1f}", seconds));
      row.push_back(fmt::format("{} {}", process.pid, process.name));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

FiguresTable gpus_table(const RunProfile& profile) {
  FiguresTable table{
      "GPUs: utilisation is the median (10th to 90th percentile) of the share of time with a kernel",
      {"GPU", "utilisation", "samples without kernel", "memory", "clock while busy", "power", "slowdowns"},
      {},
      false,
      true};
  table.rows = gpu_rows(profile);
  auto row = table.rows.begin();
  for (const GpuUse& gpu : profile.gpus) {
    if (gpu.samples == 0 && !gpu.used && gpu.missing.empty()) continue;
    std::string slowdowns;
    for (const GpuSlowdownUse& slowdown : gpu.slowdowns)
      slowdowns +=
          fmt::format("{}{} {}", slowdowns.empty() ? "" : ", ", slowdown.reason, format_percent(slowdown.share));
    row++->push_back(slowdowns.empty() ? "none" : slowdowns);
  }
  return table;
}

// How often each utilisation was seen.
FiguresTable utilisation_table(const std::vector<GpuUse>& gpus) {
  FiguresTable table{"Share of the samples by utilisation of the GPU", {"GPU"}, {}, true, true};
  for (std::size_t bin = 0; bin < kUtilisationBins; ++bin) table.columns.push_back(fmt::format("{} %", 10 * bin));
  table.columns.push_back("samples");
  for (const GpuUse& gpu : gpus) {
    std::vector<std::string> row{std::to_string(gpu.index)};
    for (const double share : gpu.utilisation_shares) row.push_back(format_percent(share));
    row.push_back(std::to_string(gpu.samples));
    table.rows.push_back(std::move(row));
  }
  return table;
}

FiguresTable activities_table(const PythonStacks& stacks) {
  FiguresTable table{"What the main thread does", {"activity", "share", "most at"}, {}, false, true};
  for (const Activity activity :
       {Activity::kInput, Activity::kThreads, Activity::kExchange, Activity::kCheckpoint, Activity::kLogging,
        Activity::kCompile, Activity::kDecode, Activity::kPixels, Activity::kOther}) {
    const double share = share_of(stacks, StackThread::kMain, activity);
    if (share < 0.005) continue;
    const HotLine line = caller_of(stacks, StackThread::kMain, activity);
    table.rows.push_back({to_string(activity), format_percent(share), line.share > 0 ? to_string(line.line) : ""});
  }
  return table;
}

std::vector<ReportTile> tiles_of(const RunProfile& profile) {
  std::vector<ReportTile> tiles;
  const PythonStacks& stacks = profile.stacks;
  if (stacks.seconds > 0) {
    tiles.push_back({format_percent(share_of(stacks, StackThread::kMain, Activity::kInput)),
                     "of the main thread's time is in the loader"});
  }
  if (!profile.steps.source.empty())
    tiles.push_back({fmt::format("{:.2f}", profile.steps.rate), "steps per second, from " + profile.steps.source});
  for (const GpuUse& gpu : gpus_of_program(profile.gpus)) {
    if (gpu.samples == 0) continue;
    tiles.push_back({format_percent(gpu.utilisation_p50),
                     fmt::format("median utilisation of GPU {} ({} to {} in 80 % of the samples)", gpu.index,
                                 format_percent(gpu.utilisation_p10), format_percent(gpu.utilisation_p90))});
    break;  // the table has the others
  }
  tiles.push_back({fmt::format("{:.1f} of {:.1f}", profile.machine.busy_cores, usable_cores(profile.machine)),
                   "usable cores were busy"});
  return tiles;
}

// "312 times in 14.0 s, with 0.41 % of a core, and 0.32 s of CPU time for stacks". The start of watching is a large
// part of a short run, so that its share has no meaning.
std::string cost_text(const Watching& watching) {
  std::string text = fmt::format("{} times in {:.1f} s", watching.samples, watching.seconds);
  if (watching.seconds < kShortestWatch) return text + fmt::format(", with {:.3f} s of CPU time", watching.cpu_s);
  return text + fmt::format(", with {:.2f} % of a core, and {:.2f} s of CPU time for stacks",
                            100 * watching.cpu_s / watching.seconds, watching.stacks_cpu_s);
}

// A core that is busy all the time while others are idle limits what is bound to it.
std::string cores_text(const MachineUse& machine) {
  if (machine.cores.size() < 2) return "";
  const auto [least, most] = std::ranges::minmax_element(
      machine.cores, [](const CoreUse& a, const CoreUse& b) { return a.busy_share < b.busy_share; });
  return fmt::format("cores: the busiest, CPU {}, for {} of the time, the least busy, CPU {}, for {}", most->cpu,
                     format_percent(most->busy_share), least->cpu, format_percent(least->busy_share));
}

FiguresTable cores_table(const MachineUse& machine) {
  constexpr std::size_t kRows = 256;
  FiguresTable table{
      "Cores of the program, used by all programs", {"CPU", "busy", "taken by the hypervisor"}, {}, false, true};
  for (const CoreUse& core : machine.cores) {
    if (table.rows.size() == kRows) break;
    table.rows.push_back(
        {std::to_string(core.cpu), format_percent(core.busy_share), format_percent(core.stolen_share)});
  }
  return table;
}

std::string slowdown_text(const SlowdownCheck& check, double slowdown) {
  const char* const meaning = check.low > 0.7    ? "it limits the program"
                              : check.high < 0.4 ? "it does not limit the program"
                                                 : "it limits the program in part, or the interval is too wide";
  const auto change = [&](double sensitivity) { return std::round(-100 * slowdown * sensitivity) + 0.0; };  // no -0
  return fmt::format("slowing {} by {:.0f} % changed the speed of the program by {:+.0f} % [{:+.0f}, {:+.0f}]: {}",
                     check.role == ProcessRole::kLoader ? "the loader's processes" : "the main process", 100 * slowdown,
                     change(check.sensitivity), change(check.high), change(check.low), meaning);
}

// What a mean and a median do not show.
std::vector<std::string> step_notes(const std::vector<double>& seconds) {
  constexpr std::size_t kFewest = 8;
  std::vector<std::string> notes;
  if (seconds.size() < kFewest) return notes;
  std::string longest = fmt::format("long steps: 99th percentile {:.3f} s, longest {:.3f} s", quantile(seconds, 0.99),
                                    std::ranges::max(seconds));
  if (const LongSteps pauses = long_steps(seconds, kLongStep); !pauses.indexes.empty()) {
    longest += fmt::format("; {} of {} take more than {} times the median, and exceed it by {} of the time",
                           pauses.indexes.size(), seconds.size(), kLongStep, format_percent(pauses.share));
  }
  notes.push_back(std::move(longest));
  if (const std::optional<Drift> drift = drift_of(seconds)) notes.push_back("no steady state: " + to_text(*drift));
  return notes;
}

std::string slowdowns_text(const SlowdownChecks& checks) {
  if (checks.slowdown <= 0) return "";
  if (!checks.problem.empty()) return fmt::format("not confirmed: {}\n", checks.problem);
  std::string text;
  for (const SlowdownCheck& check : checks.groups)
    text += fmt::format("{}, {} pairs, by {}\n", slowdown_text(check, checks.slowdown), check.pairs, checks.progress);
  return text;
}

}  // namespace

std::string to_text(const WatchResult& result) {
  const RunProfile& profile = result.profile;
  const MachineUse& machine = profile.machine;
  std::string text = fmt::format("{}\n", verdict_of(result));
  text += findings_to_text(result.findings);
  if (profile.processes.empty()) return text;
  text += fmt::format("\n{:<24} {:>7} {:>8} {:>9} {:>9} {:>9}\n", "process", "role", "cores", "no core", "memory",
                      "storage");
  int shown = 0;
  for (const ProcessUse& process : profile.processes) {
    if (++shown > 12) {
      text += fmt::format("{} more processes\n", profile.processes.size() - 12);
      break;
    }
    const double lived = std::max(process.end_s - process.begin_s, 1e-3);
    text += fmt::format("{:<24} {:>7} {:>8.2f} {:>8.0f}% {:>9} {:>9}\n",
                        process.pid == 0 ? process.name + ", others" : fmt::format("{} {}", process.pid, process.name),
                        to_string(process.role), process.cpu_s / lived, 100 * process.run_delay_s / lived,
                        format_bytes(static_cast<std::uint64_t>(process.peak_resident_bytes)),
                        process.has_io ? format_bytes(static_cast<std::uint64_t>(process.storage_bytes)) : "unknown");
  }
  if (const std::vector<std::vector<std::string>> rows = gpu_rows(profile); !rows.empty()) {
    const auto add = [&](const std::vector<std::string>& row) {
      text += fmt::format("{:<28} {:>20} {:>9} {:>9} {:>17} {:>14}\n", row[0], row[1], row[2], row[3], row[4], row[5]);
    };
    text += "\n";
    add({"GPU", "utilisation", "idle", "memory", "clock", "power"});
    for (const std::vector<std::string>& row : rows) add(row);
  }
  text += io_to_text(profile);
  if (profile.trace) text += trace_to_text(*profile.trace);
  text += fmt::format(
      "\nsampled {}; {:.1f} of {} cores were busy; pressure: CPU {:.0f} %, storage {:.0f} %, memory {:.0f} %\n",
      cost_text(profile.watching), machine.busy_cores, machine.affinity_cores, 100 * machine.cpu_pressure,
      100 * machine.io_pressure, 100 * machine.memory_pressure);
  if (const std::string cores = cores_text(machine); !cores.empty()) text += cores + "\n";
  if (!profile.steps.source.empty() && profile.steps.seconds.empty()) {
    text += fmt::format("steps, from {}: about {:.2f} per second, typically {:.3f} s, single steps are unknown\n",
                        profile.steps.source, profile.steps.rate, 1 / profile.steps.rate);
  } else if (!profile.steps.source.empty()) {
    const std::vector<double>& seconds = profile.steps.seconds;
    text += fmt::format("steps, from {}: {:.2f} per second, median {:.3f} s, 90th percentile {:.3f} s\n",
                        profile.steps.source, profile.steps.rate, median(seconds), quantile(seconds, 0.9));
    for (const std::string& note : step_notes(seconds)) text += note + "\n";
  }
  if (const SufficientMachine enough = sufficient_machine(profile); enough.cores > 0) {
    text += fmt::format("at this speed, {} {} and {} of memory would be enough\n", enough.cores,
                        enough.cores == 1 ? "core" : "cores", memory_text(enough.memory_bytes));
  }
  text += slowdowns_text(profile.slowdowns);
  text += ranks_to_text(profile.ranks);
  if (!profile.stacks.missing.empty()) text += fmt::format("no stacks: {}\n", profile.stacks.missing);
  for (const std::string& reason : missing_stacks(profile)) text += reason + "\n";
  for (const std::string& reason : missing_gpus(profile)) text += reason + "\n";
  if (!profile.watching.stopped.empty()) text += fmt::format("watching ended {}\n", profile.watching.stopped);
  return text;
}

std::string to_json(const WatchResult& result) {
  return diagnosis_to_json(verdict_of(result), result.findings, result.profile);
}

Report report_of(const WatchResult& result, const std::string& command) {
  const RunProfile& profile = result.profile;
  Report report = report_of_now("unstarve watch", command);
  CurveSection section;
  section.title = profile.command;
  section.verdict = verdict_of(result);
  section.tiles = tiles_of(profile);
  section.findings = report_findings(result.findings);
  section.notes.push_back(
      fmt::format("Sampled {}.{}", cost_text(profile.watching),
                  profile.watching.stopped.empty() ? "" : " Watching ended " + profile.watching.stopped + "."));
  if (const SufficientMachine enough = sufficient_machine(profile); enough.cores > 0) {
    section.notes.push_back(fmt::format("At this speed, {} {} and {} of memory would be enough.", enough.cores,
                                        enough.cores == 1 ? "core" : "cores", memory_text(enough.memory_bytes)));
  }
  for (const std::string& note : step_notes(profile.steps.seconds)) section.notes.push_back(note + ".");
  if (!profile.stacks.missing.empty()) section.notes.push_back("No stacks: " + profile.stacks.missing + ".");
  for (const std::string& reason : missing_stacks(profile)) section.notes.push_back(reason + ".");
  if (!profile.slowdowns.problem.empty())
    section.notes.push_back("The experiment has no result: " + profile.slowdowns.problem + ".");
  for (const SlowdownCheck& check : profile.slowdowns.groups)
    section.notes.push_back("Experiment: " + slowdown_text(check, profile.slowdowns.slowdown) + ".");
  section.bars = {lost_time_chart(profile), step_histogram(profile.steps.seconds)};
  std::erase_if(section.bars, [](const BarChart& chart) { return chart.bars.empty(); });
  for (const std::string& reason : missing_gpus(profile)) section.notes.push_back(reason + ".");
  for (const std::string& note : memory_notes(profile)) section.notes.push_back(note + ".");
  section.charts = charts_of(profile);
  if (Timeline timeline = timeline_of_threads(profile.thread_window); !timeline.spans.empty())
    section.timelines.push_back(std::move(timeline));
  add_flame(section.flames, profile.stacks, StackThread::kMain,
            "Flame graph of the main thread: time, also while it waits");
  add_flame(section.flames, profile.stacks, StackThread::kLoader, "Flame graph of the loader's processes");
  add_flame(section.flames, profile.stacks, StackThread::kHelper, "Flame graph of the main process's other threads");
  if (!lost_time(profile).empty()) section.tables.push_back(lost_time_table(profile));
  if (FiguresTable table = gpus_table(profile); !table.rows.empty()) section.tables.push_back(std::move(table));
  if (FiguresTable table = utilisation_table(gpus_of_program(profile.gpus)); !table.rows.empty())
    section.tables.push_back(std::move(table));
  if (profile.trace) {
    section.notes.push_back(fmt::format("Kernels were recorded in windows of {:.1f} s together, with {} steps.",
                                        profile.trace->observed_s, profile.trace->steps.size()));
    add_trace(section, *profile.trace);
  }
  if (profile.stacks.seconds > 0) section.tables.push_back(activities_table(profile.stacks));
  if (profile.ranks.size() > 1) section.tables.push_back(ranks_table(profile.ranks));
  if (FiguresTable table = io_table(profile); !table.rows.empty()) section.tables.push_back(std::move(table));
  if (!profile.machine.cores.empty()) section.tables.push_back(cores_table(profile.machine));
  section.tables.push_back(processes_table(profile));
  section.tables.push_back(threads_table(profile));
  report.curves.push_back(std::move(section));
  return report;
}

}  // namespace unstarve
