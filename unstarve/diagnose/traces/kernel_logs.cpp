#include "unstarve/diagnose/traces/kernel_logs.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/statistics.h"
#include "unstarve/diagnose/traces/kernel_log_events.h"
#include "unstarve/diagnose/traces/reduce.h"
#include "unstarve/diagnose/traces/steps.h"

namespace unstarve {

namespace {

struct OneLog {
  KernelLogFacts facts;
  StepUse ranges;
  TraceUse trace;
  double first_step_s = 0;
  ProcessKernels use;
};

OneLog evaluate(const std::filesystem::path& file, const StepTimes& step_times) {
  const std::string bytes = read_text_file(file);
  TraceEvents events;
  OneLog log;
  log.facts =
      read_kernel_log({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, file.string(), events);
  log.use.pid = static_cast<int>(log.facts.process);
  log.use.kernels = log.facts.kernels;
  log.use.missing = log.facts.message;
  log.ranges = steps_by_ranges(log.facts);
  if (log.facts.kernels == 0) return log;
  const std::vector<double> times = step_times(log.facts.process);
  if (!add_marked_steps(log.facts, times, events)) (void)add_steps_by_kernels(log.facts, events);
  log.first_step_s = first_step_s(log.facts, events);
  TraceUse& trace = log.trace = reduce_trace(events);
  trace.overhead_s += cost_of_recording(log.facts, times) * trace.analysed_s;
  if (is_disturbed(trace)) log.ranges = {};
  std::vector<double> steps;
  for (const TraceStep& step : trace.steps) steps.push_back(step.seconds);
  log.use.steps = static_cast<std::int64_t>(steps.size());
  if (!steps.empty()) log.use.step_s = median(steps);
  for (const DeviceUse& device : trace.devices)
    log.use.busy_share += device.busy_s / trace.analysed_s / static_cast<double>(trace.devices.size());
  log.use.peak_memory = trace.memory.peak_bytes;
  log.use.memory_growth = trace.memory.growth_bytes;
  return log;
}

// Steps per second; 0: unknown.
double rate_of(const OneLog& log) {
  if (!log.ranges.source.empty()) return log.ranges.rate;
  if (log.trace.steps.empty() || is_disturbed(log.trace)) return 0;
  return static_cast<double>(log.trace.steps.size()) / log.trace.analysed_s;
}

}  // namespace

RecordedKernels read_kernel_logs(const std::filesystem::path& folder, const StepTimes& step_times) {
  RecordedKernels recorded;
  std::vector<ProcessKernels> processes;
  OneLog best;
  const auto rank = [](const OneLog& log) {
    return std::tuple(log.facts.kernels, log.facts.ranges.events().size(), -log.use.pid);
  };
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".cupti") continue;
    try {
      OneLog log = evaluate(entry->path(), step_times);
      if (const double rate = rate_of(log); rate > 0) recorded.step_rates[log.use.pid] = rate;
      if (log.use.kernels > 0 || !log.use.missing.empty()) processes.push_back(log.use);
      if (!log.use.missing.empty()) recorded.missing = log.use.missing;
      if (best.use.pid == 0 || rank(log) > rank(best)) best = std::move(log);
    } catch (const Error& failed) {
      recorded.missing = failed.what();
    }
  }
  recorded.steps = best.ranges;
  if (!best.ranges.source.empty()) recorded.ranges = {best.use.pid, steps_of(best.facts.ranges, {}).windows};
  if (best.facts.kernels == 0) return recorded;
  recorded.missing = best.facts.message;
  std::ranges::sort(processes, [](const ProcessKernels& a, const ProcessKernels& b) {
    return std::pair(-a.kernels, a.pid) < std::pair(-b.kernels, b.pid);
  });
  recorded.trace = std::move(best.trace);
  recorded.first_step_s = best.first_step_s;
  recorded.pci_addresses = std::move(best.facts.pci_addresses);
  recorded.trace->processes = std::move(processes);
  return recorded;
}

}  // namespace unstarve
