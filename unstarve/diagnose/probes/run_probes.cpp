#include "unstarve/diagnose/probes/run_probes.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <string>
#include <utility>

#include "unstarve/core/clock.h"
#include "unstarve/core/machine/host.h"
#include "unstarve/diagnose/probes/step_choice.h"
#include "unstarve/diagnose/probes/step_log.h"
#include "unstarve/diagnose/profile/roles.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

// Added to seconds of CLOCK_MONOTONIC.
double to_unix_s() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - seconds_now();
}

// The ranks of the processes that have recorded kernels.
void set_ranks(TraceUse& trace, const std::vector<RankUse>& ranks) {
  for (ProcessKernels& process : trace.processes) {
    const auto rank = std::ranges::find(ranks, process.pid, &RankUse::pid);
    if (rank != ranks.end()) process.rank = rank->numbers.global;
  }
}

// The memory in use of each device, as the driver reports it: that of other programs counts, too.
void set_peak_memory(TraceUse& trace, const std::map<int, std::string>& pci_addresses,
                     const std::vector<GpuUse>& gpus) {
  for (DeviceUse& device : trace.devices) {
    const auto address = pci_addresses.find(device.index);
    if (address == pci_addresses.end()) continue;
    const auto gpu = std::ranges::find(gpus, address->second, &GpuUse::pci_address);
    if (gpu != gpus.end()) device.peak_memory_bytes = gpu->peak_memory_bytes;
  }
}

}  // namespace

RunProbes::RunProbes(int process, const RunProbesOptions& options)
    : options_(options),
      begin_(seconds_now()),
      tree_(process, {.adopter = options.adopter, .guard = options.guard}),
      machine_(process),
      gpus_({.cpu_share = options.cpu_share, .library = "", .root = "/"}) {}

double RunProbes::now() const { return seconds_now() - begin_; }

std::vector<ProcessUse> RunProbes::with_roles() const {
  std::vector<ProcessUse> processes = tree_.use();
  set_roles(processes);
  return processes;
}

void RunProbes::add_to_timeline(double seconds, std::span<const ProcessUse> processes) {
  gpus_.set_program(processes);
  timeline_.add(seconds, processes, gpus_.take_utilisation(), machine_.network());
}

std::vector<ProcessUse> RunProbes::find(double seconds) {
  tree_.find(seconds, stacks_.recorder());
  machine_.look();
  std::vector<ProcessUse> processes = with_roles();
  add_to_timeline(seconds, processes);
  steady_.add(seconds, processes);
  ranks_.read(processes);
  return processes;
}

void RunProbes::record_stacks(double seconds, std::span<const ProcessUse> processes) {
  stacks_.look(seconds, processes);
  stacks_recorded_ = stacks_recorded_ || stacks_.recorder() != 0;
}

void RunProbes::record_threads(double seconds, std::span<const ProcessUse> processes) {
  periods_.look(seconds, processes, [this] { return periods_are_allowed(); });
  stacks_recorded_ = stacks_.recorder() != 0;
  // The guard's experiment stops processes.
  if (options_.guard == 0) threads_.look(seconds, processes, step_s(), marks_of_steps());
}

// py-spy reads the memory of the program, and the guard's experiment stops its processes periodically.
bool RunProbes::periods_are_allowed() const {
  return options_.guard == 0 && !stacks_recorded_ && stacks_.steps().source.empty() &&
         read_step_logs(options_.steps).source.empty();
}

// Duration of a step, as far as it is known; 0: it is not.
double RunProbes::step_s() const {
  StepUse steps = read_step_logs(options_.steps);
  if (steps.source.empty()) steps = stacks_.steps();
  if (steps.source.empty()) steps = periods_.steps();
  return steps.rate > 0 ? 1 / steps.rate : 0;
}

// When the first known step begins, of CLOCK_MONOTONIC; 0: it is not known. Ranges and kernels show it in windows only.
double RunProbes::first_step_s() const {
  if (const double marked = read_first_step(options_.steps); marked > 0) return marked;
  const std::vector<Interval>& ranges = kernels_.ranges.second;
  return ranges.empty() ? kernels_.first_step_s : 1e-9 * static_cast<double>(ranges[0].begin);
}

ThreadProbe::MarksOf RunProbes::marks_of_steps() const {
  return [this](int process) {
    std::vector<double> times = read_step_times(options_.steps, static_cast<std::uint32_t>(process));
    return StepMarks{times.empty() ? "" : "un.step()", std::move(times)};
  };
}

void RunProbes::read_kernels() {
  kernels_ = read_kernel_logs(options_.steps,
                              [this](std::uint32_t program) { return read_step_times(options_.steps, program); });
}

RunProfile RunProbes::profile(double seconds, std::vector<ProcessUse> processes, const ProbingCost& cost) const {
  return profile_of(seconds, std::move(processes), stacks_.so_far(), cost);
}

RunProfile RunProbes::finish(ProbingCost cost) {
  const double seconds = now();
  tree_.find(seconds, stacks_.recorder());
  tree_.look(seconds);
  machine_.look();
  ++cost.looks;
  std::vector<ProcessUse> processes = with_roles();
  gpus_.stop();
  periods_.finish();
  threads_.finish(marks_of_steps());
  add_to_timeline(seconds, processes);
  ranks_.read(processes);
  PythonStacks stacks = stacks_.finish();
  read_kernels();
  return profile_of(seconds, std::move(processes), std::move(stacks), cost);
}

RunProfile RunProbes::profile_of(double seconds, std::vector<ProcessUse> processes, PythonStacks stacks,
                                 const ProbingCost& cost) const {
  RunProfile profile;
  profile.machine = machine_.use(seconds);
  profile.processes = std::move(processes);
  steady_.set(profile, seconds);
  profile.timeline = timeline_.timeline();
  profile.stacks = std::move(stacks);
  profile.trace = kernels_.trace;
  profile.steps = choose_steps({read_step_logs(options_.steps), kernels_.steps, stacks_.steps(), periods_.steps(),
                                profile.machine.throttled_share, profile.trace ? &*profile.trace : nullptr});
  const ThreadProbe::Window& window = threads_.window();
  const bool has_ranges = kernels_.ranges.first == window.samples.process;
  profile.thread_window =
      thread_window(window.samples,
                    marks_within(window.samples, window.marks,
                                 has_ranges ? kernels_.ranges.second : std::vector<Interval>(), profile.steps.rate),
                    begin_);
  const double first_step = first_step_s();
  profile.gpus = gpus_.use(first_step > 0 ? first_step : begin_ + profile.steady_from_s);
  profile.watching = {seconds,         cost.looks, cost.cpu_s + gpus_.cpu_s() + periods_.cpu_s() + threads_.cpu_s(),
                      stacks_.cpu_s(), "",         gpus_.missing(),
                      kernels_.missing};
  profile.ranks = rank_uses(profile, printable(host_name()), begin_ + to_unix_s(), rank_facts());
  if (profile.trace) {
    set_ranks(*profile.trace, profile.ranks);
    set_peak_memory(*profile.trace, kernels_.pci_addresses, profile.gpus);
  }
  return profile;
}

std::map<int, RankFacts> RunProbes::rank_facts() const {
  std::map<int, RankFacts> facts;
  for (const auto& [pid, numbers] : ranks_.numbers()) facts[pid].numbers = numbers;
  for (auto& [pid, stacks] : stacks_.by_process()) facts[pid].stacks = stacks;
  for (const auto& [pid, rate] : kernels_.step_rates) facts[pid].steps.rate = rate;
  for (auto& [pid, steps] : read_rank_steps(options_.steps, to_unix_s())) facts[pid].steps = steps;
  return facts;
}

}  // namespace unstarve
