#include "unstarve/diagnose/rules/summary.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/own_loop.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/tf_generator.h"

namespace unstarve {
namespace {

// The largest number of intervals (begin, end) that contain one time.
int most_at_once(const std::vector<std::pair<double, double>>& intervals) {
  std::vector<std::pair<double, int>> changes;
  for (const auto& [begin, end] : intervals) {
    changes.emplace_back(begin, +1);
    changes.emplace_back(end, -1);
  }
  std::ranges::sort(changes);  // ends before beginnings
  int now = 0, most = 0;
  for (const auto& [seconds, change] : changes) most = std::max(most, now += change);
  return most;
}

// By which factor the waits of a thread are longer than those that were sampled. A wait of less than 0.1 ms often ends
// while the system call is read, and seems to run: in examples/slow/cpp/small_reads, half of them are missed.
double missed_waits(const ThreadUse& thread, double lived_s) {
  constexpr double kMost = 2;
  const ThreadWaits& waits = thread.waits;
  const double sampled_s = waits.lock_s + waits.file_s + waits.flush_s + waits.pipe_s + waits.network_s +
                           waits.events_s + waits.sleep_s + waits.other_s;
  if (sampled_s <= 0 || thread.cpu_s <= 0) return 1;
  return std::clamp((lived_s - thread.cpu_s - thread.run_delay_s) / sampled_s, 1.0, kMost);
}

// Cores that the program uses after its start: the second half of the timeline without its end, in which libraries are
// unloaded, or the whole run without one.
double steady_cores(const RunProfile& profile) {
  constexpr std::size_t kFewest = 8, kEnd = 2;
  const RunTimeline& timeline = profile.timeline;
  const std::size_t size = timeline.main.size();
  if (size < kFewest) return profile.watching.seconds > 0 ? own_cpu_s(profile) / profile.watching.seconds : 0;
  double sum = 0;
  for (std::size_t i = size / 2; i < size - kEnd; ++i) sum += timeline.main[i] + timeline.loader[i] + timeline.other[i];
  return sum / static_cast<double>(size - kEnd - size / 2);
}

}  // namespace

RoleSum sum_of(const RunProfile& profile, ProcessRole role) {
  RoleSum sum;
  std::vector<std::pair<double, double>> intervals;
  for (const ProcessUse& process : steady_processes(profile)) {
    const double lived = process.end_s - process.begin_s;
    if (process.role != role || process.pid == 0 || lived <= 0) continue;
    intervals.emplace_back(process.begin_s, process.end_s);
    sum.lived_s += lived;
    sum.cpu_s += process.cpu_s;
    sum.run_delay_s += process.run_delay_s;
    sum.thread_s += process.busiest_thread_s;
    sum.system_s += process.main_system_s;
    sum.minor_faults += process.minor_faults;
    add_waits(sum.waits, process.main_thread.waits, missed_waits(process.main_thread, lived));
  }
  if (sum.lived_s < steady_seconds(profile) / 10) return {};
  sum.processes = most_at_once(intervals);
  return sum;
}

ThreadWaits main_thread_waits(const RunProfile& profile) {
  ThreadWaits mean;
  const RoleSum main = sum_of(profile, ProcessRole::kMain);
  if (main.processes > 0) add_waits(mean, main.waits, 1.0 / main.processes);
  return mean;
}

double input_share(const RunProfile& profile) {
  if (profile.stacks.seconds <= 0) return -1;
  const double waits = share_of(profile.stacks, StackThread::kMain, Activity::kInput) +
                       share_of(profile.stacks, StackThread::kMain, Activity::kThreads);
  return std::min(std::max({waits, own_loading_share(profile), generator_share(profile)}), 1.0);
}

ReadUse read_use(const RunProfile& profile) {
  const RoleSum loader = sum_of(profile, ProcessRole::kLoader);
  ReadUse use{.workers = loader.processes > 0};
  const ThreadWaits waits = use.workers ? loader.waits : main_thread_waits(profile);
  const double lived = use.workers ? loader.lived_s : steady_seconds(profile);
  if (lived <= 0) return use;
  use.files = waits.file_s / lived;
  use.sockets = waits.network_s / lived;
  const double input = input_share(profile);
  use.lost = !use.workers ? use.files + use.sockets
             : input >= 0 ? input
                          : 1 - sum_of(profile, ProcessRole::kMain).thread_busy();
  return use;
}

double calls_share(const RunProfile& profile) {
  constexpr double kFault = 1e-6;  // seconds, at least: 2.2e-6 were measured for new pages in a virtual machine
  const RoleSum main = sum_of(profile, ProcessRole::kMain);
  if (main.lived_s <= 0) return 0;
  return std::max(main.system_s - kFault * static_cast<double>(main.minor_faults), 0.0) / main.lived_s;
}

double waits_for_devices(const RunProfile& profile) {
  return std::min(profile.machine.io_pressure, 1 - sum_of(profile, ProcessRole::kMain).thread_busy());
}

bool loader_limits(const RunProfile& profile) {
  const RoleSum loader = sum_of(profile, ProcessRole::kLoader), main = sum_of(profile, ProcessRole::kMain);
  if (loader.processes == 0 || main.processes == 0) return false;
  if ((loader.cpu_s + loader.run_delay_s) / loader.lived_s < 0.9) return false;
  const double input = input_share(profile);
  return input >= 0 ? input >= 0.1 : main.thread_busy() < 0.8;
}

GainPrediction gain_by_more(double more) { return {1 + 0.85 * more, 1 + 0.65 * more, 1 + more}; }

GainPrediction gain_by_cores(const RunProfile& profile, double spinning) {
  return gain_by_more((free_cores(profile) + spinning) / std::max(steady_cores(profile) - spinning, 0.01));
}

GainPrediction gain_by_less_work(const RunProfile& profile, double rest) {
  constexpr double kUncertain = 0.25;  // by which `rest` may be wrong
  const double main_s = sum_of(profile, ProcessRole::kMain).cpu_s,
               loader_s = sum_of(profile, ProcessRole::kLoader).cpu_s;
  const double cores_s = left_cores(profile) * steady_seconds(profile);
  const auto gain = [&](double factor) {
    return std::max(cores_s / std::max(main_s + factor * rest * loader_s, 0.01), 1.0);
  };
  return {gain(1), gain(1 + kUncertain), gain(1 - kUncertain)};
}

GainPrediction gain_without(double share, double seconds) {
  constexpr double kIndependent = 0.1;  // seconds between samples that do not depend on each other
  const auto gain = [](double saved) { return 1 / std::max(1 - std::max(saved, 0.0), 0.01); };
  const double p = std::clamp(share, 0.0, 1.0);
  if (seconds <= 0) return {gain(p), 0, 0};
  const double margin = 1.96 * std::sqrt(p * (1 - p) * kIndependent / seconds);
  return {gain(p), gain(p - margin), gain(p + margin)};
}

GainPrediction gain_by_longer_reads(double waits, double calls, double seconds) {
  if (calls <= 0) return {};
  constexpr double kSaved = 1 - 1 / kLongerReads;
  const double waits_saved = 1 - 1 / std::sqrt(kLongerReads);
  return {gain_without(kSaved * calls + waits_saved * waits).gain,
          std::min(gain_without(kSaved * waits, seconds).low, gain_without(kSaved * calls, seconds).low),
          gain_without(kSaved * (waits + calls), seconds).high};
}

GainPrediction gain_by_longer_reads(const RunProfile& profile, double waits) {
  if (const double calls = calls_share(profile); calls > 0)
    return gain_by_longer_reads(waits, calls, steady_seconds(profile));
  const RoleSum main = sum_of(profile, ProcessRole::kMain);
  if (main.lived_s <= 0 || main.system_s <= 0) return {};
  return gain_without((1 - 1 / kLongerReads) * (waits + main.system_s / main.lived_s));
}

GainPrediction least_of(const GainPrediction& a, const GainPrediction& b) {
  return {std::min(a.gain, b.gain), std::min(a.low, b.low), std::min(a.high, b.high)};
}

double possible_gain(const RunProfile& profile, double waits, double spinning) {
  return std::min(gain_by_cores(profile, spinning).high, gain_without(waits).gain);
}

double lost_by(const GainPrediction& gain) { return 1 - 1 / std::max(gain.gain, 1.0); }

SufficientMachine sufficient_machine(const RunProfile& profile) {
  constexpr double kSpare = 1.1;
  SufficientMachine machine;
  if (profile.processes.empty() || profile.watching.seconds < kShortestWatch) return machine;
  const double spare = std::min(kSpare * steady_cores(profile), std::max(usable_cores(profile.machine), 1.0));
  machine.cores = std::max(1, static_cast<int>(std::ceil(spare - 0.01)));
  // The largest sum of processes that were alive at the same time: the sum only grows when a process begins.
  for (const ProcessUse& first : profile.processes) {
    std::int64_t alive = 0;
    for (const ProcessUse& process : profile.processes)
      if (process.begin_s <= first.begin_s && (!process.ended || process.end_s > first.begin_s))
        alive += process.peak_resident_bytes;
    machine.memory_bytes = std::max({machine.memory_bytes, alive, first.peak_resident_bytes});
  }
  return machine;
}

double left_cores(const RunProfile& profile) {
  const double left = static_cast<double>(profile.machine.affinity_cores) - foreign_cores(profile);
  return std::clamp(left, 0.0, usable_cores(profile.machine));
}

double taken_share(const RunProfile& profile) {
  const double usable = usable_cores(profile.machine);
  return usable > 0 ? 1 - left_cores(profile) / usable : 0;
}

double free_cores(const RunProfile& profile) { return std::max(left_cores(profile) - steady_cores(profile), 0.0); }

OperatorThreads operator_threads(const RunProfile& profile) {
  OperatorThreads sum;
  const RoleSum main = sum_of(profile, ProcessRole::kMain);
  if (profile.stacks.seconds <= 0 || main.processes == 0) return sum;
  for (const ProcessUse& process : steady_processes(profile)) {
    const double share = (process.end_s - process.begin_s) / main.lived_s;
    if (process.role != ProcessRole::kMain || process.pid == 0 || share <= 0) continue;
    for (const ThreadUse& group : process.threads) {
      if (group.name != process.main_thread.name) continue;
      const double cpu_s = group.cpu_s - process.main_thread.cpu_s;
      const double delay_s = group.run_delay_s - process.main_thread.run_delay_s;
      sum.threads += (group.threads - 1) * share;
      sum.cores += cpu_s / main.lived_s;
      sum.runnable += (cpu_s + delay_s) / main.lived_s;
    }
  }
  const double python = working_threads(profile.stacks, StackThread::kHelper) / main.processes;
  return {std::max(sum.threads - python, 0.0), std::max(sum.cores - python, 0.0), std::max(sum.runnable - python, 0.0)};
}

double spinning_cores(const RunProfile& profile) {
  const OperatorThreads operators = operator_threads(profile);
  const double useful = operators.threads * (1 - std::max(input_share(profile), 0.0));
  return std::max(operators.cores - useful, 0.0) * sum_of(profile, ProcessRole::kMain).processes;
}

Changes no_spinning() {
  const std::string sleep = "let operator threads sleep while they wait: ";
  const std::string passive = "the variable OMP_WAIT_POLICY=passive";
  return {sleep + passive, sleep + "torch.set_num_threads(1) in the main process, or " + passive,
          sleep + "tf.config.threading.set_intra_op_parallelism_threads(1), or " + passive,
          sleep + "the variable NPROC=1, which XLA reads at its start, or " + passive,
          sleep + "unstarve train --wait-policy passive"};
}

}  // namespace unstarve
