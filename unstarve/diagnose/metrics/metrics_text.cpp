#include "unstarve/diagnose/metrics/metrics_text.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "unstarve/core/statistics.h"
#include "unstarve/diagnose/profile/stack_shares.h"

namespace unstarve {
namespace {

constexpr std::array kRoles{ProcessRole::kMain, ProcessRole::kLoader, ProcessRole::kOther};

// Appends metrics with their help and type.
class Metrics {
 public:
  void begin(const char* name, const char* type, const char* help) {
    name_ = std::string("unstarve_") + name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name_, help, name_, type);
  }
  // `labels`: key="value",... without characters that need an escape.
  void add(const std::string& labels, double value) {
    text_ += labels.empty() ? fmt::format("{} {}\n", name_, value) : fmt::format("{}{{{}}} {}\n", name_, labels, value);
  }
  void one(const char* name, const char* type, const char* help, double value) {
    begin(name, type, help);
    add("", value);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string name_, text_;
};

std::string role_label(ProcessRole role) { return fmt::format("role=\"{}\"", to_string(role)); }

// A gauge of the processes of each role that are alive.
template <class Value>
void add_gauge(Metrics& metrics, const RunProfile& profile, const Value& value) {
  for (const ProcessRole role : kRoles) {
    double sum = 0;
    for (const ProcessUse& process : profile.processes)
      if (process.role == role && !process.ended) sum += value(process);
    metrics.add(role_label(role), sum);
  }
}

void add_counter(Metrics& metrics, const RunCounters& counters, double RunCounters::Use::*figure) {
  for (const ProcessRole role : kRoles) metrics.add(role_label(role), counters.of(role).*figure);
}

void add_processes(Metrics& metrics, const RunProfile& profile, const RunCounters& counters) {
  metrics.begin("processes", "gauge", "Processes that are alive.");
  add_gauge(metrics, profile, [](const ProcessUse&) { return 1.0; });
  metrics.begin("cpu_seconds_total", "counter", "CPU time.");
  add_counter(metrics, counters, &RunCounters::Use::cpu_s);
  metrics.begin("run_delay_seconds_total", "counter", "Time in which threads were ready to run, without a CPU.");
  add_counter(metrics, counters, &RunCounters::Use::run_delay_s);
  metrics.begin("resident_bytes", "gauge", "Resident memory.");
  add_gauge(metrics, profile, [](const ProcessUse& process) { return static_cast<double>(process.resident_bytes); });
  metrics.begin("storage_read_bytes_total", "counter", "Bytes that came from a device.");
  add_counter(metrics, counters, &RunCounters::Use::storage_bytes);
  metrics.begin("main_thread_wait_seconds_total", "counter", "Time that main threads spent in system calls.");
  constexpr std::array kNames{"lock", "file", "flush", "pipe", "network", "events", "sleep"};
  static_assert(kNames.size() == RunCounters::kWaits.size());
  for (const ProcessRole role : kRoles)
    for (std::size_t i = 0; i < kNames.size(); ++i)
      metrics.add(fmt::format("{},kind=\"{}\"", role_label(role), kNames[i]), counters.of(role).waits_s[i]);
}

void add_machine(Metrics& metrics, const RunProfile& profile) {
  const MachineUse& machine = profile.machine;
  metrics.one("usable_cores", "gauge", "Cores that the program may use at the same time.", usable_cores(machine));
  metrics.one("machine_busy_cores", "gauge", "Busy cores of all programs, mean since the start.", machine.busy_cores);
  metrics.one("cpu_throttled_ratio", "gauge", "Periods of the CPU quota in which tasks were throttled.",
              machine.throttled_share);
  metrics.begin("pressure_ratio", "gauge", "Time in which some task of the machine waited for a resource.");
  for (const auto& [name, value] : {std::pair{"cpu", machine.cpu_pressure}, std::pair{"io", machine.io_pressure},
                                    std::pair{"memory", machine.memory_pressure}})
    metrics.add(fmt::format("resource=\"{}\"", name), value);
}

void add_steps(Metrics& metrics, const RunProfile& profile, const RunCounters& counters) {
  const StepUse& steps = profile.steps;
  if (counters.steps() > 0)
    metrics.one("steps_total", "counter", "Training steps that un.step() marked.",
                static_cast<double>(counters.steps()));
  if (steps.source.empty()) return;
  metrics.one("steps_per_second", "gauge", "Training steps per second.", steps.rate);
  if (steps.seconds.empty()) return;  // only their period is known
  metrics.begin("step_seconds", "gauge", "Duration of the latest 2048 steps.");
  for (const double quantile_of : {0.5, 0.9, 0.99})
    metrics.add(fmt::format("quantile=\"{}\"", quantile_of), quantile(steps.seconds, quantile_of));
}

void add_stacks(Metrics& metrics, const RunProfile& profile) {
  if (profile.stacks.seconds <= 0) return;
  metrics.begin("main_thread_ratio", "gauge", "What the main thread does, by samples of its stack.");
  for (const Activity activity :
       {Activity::kInput, Activity::kThreads, Activity::kExchange, Activity::kCheckpoint, Activity::kLogging,
        Activity::kCompile, Activity::kDecode, Activity::kPixels, Activity::kOther})
    metrics.add(fmt::format("activity=\"{}\"", to_string(activity)),
                share_of(profile.stacks, StackThread::kMain, activity));
}

void add_gpus(Metrics& metrics, const RunProfile& profile) {
  if (profile.gpus.empty()) return;
  const auto each = [&](const char* name, const char* help, const auto& value) {
    metrics.begin(name, "gauge", help);
    for (const GpuUse& gpu : profile.gpus) metrics.add(fmt::format("gpu=\"{}\"", gpu.index), value(gpu));
  };
  each("gpu_utilisation_ratio", "Median share of time in which a kernel ran, since the first one.",
       [](const GpuUse& gpu) { return gpu.utilisation_p50; });
  each("gpu_idle_ratio", "Share of the samples in which no kernel ran.",
       [](const GpuUse& gpu) { return gpu.idle_share; });
  each("gpu_peak_memory_bytes", "Peak memory in use.",
       [](const GpuUse& gpu) { return static_cast<double>(gpu.peak_memory_bytes); });
}

}  // namespace

std::string metrics_text(const RunProfile& profile, const RunCounters& counters, std::span<const RunFinding> findings) {
  Metrics metrics;
  metrics.one("watched_seconds", "gauge", "Time since watching began.", profile.watching.seconds);
  metrics.one("watch_cpu_seconds_total", "counter", "CPU time that watching used.", counters.watch_cpu_s());
  add_processes(metrics, profile, counters);
  add_machine(metrics, profile);
  add_steps(metrics, profile, counters);
  add_stacks(metrics, profile);
  add_gpus(metrics, profile);
  metrics.begin("finding_lost_ratio", "gauge", "Largest share of the time that a cause takes.");
  for (const RunFinding& finding : findings) metrics.add(fmt::format("rule=\"{}\"", finding.rule), finding.lost);
  return metrics.take();
}

}  // namespace unstarve
