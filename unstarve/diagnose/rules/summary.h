#pragma once
// Sums over the processes of a profile that several rules need.
//
// Threads: pure functions. Failure: none.

#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/diagnose/rules/change.h"
#include "unstarve/observe/step_model.h"

namespace unstarve {

struct RoleSum {
  int processes = 0;   // at the same time, at most
  double lived_s = 0;  // wall time of all
  double cpu_s = 0;
  double run_delay_s = 0;
  double thread_s = 0;  // CPU time of the busiest thread of each
  double system_s = 0;  // CPU time of their main threads in the kernel
  std::int64_t minor_faults = 0;
  ThreadWaits waits;  // of their main threads

  // Shares of their wall time, 0..1 for a process with one thread.
  [[nodiscard]] double busy() const { return lived_s > 0 ? cpu_s / lived_s : 0; }
  [[nodiscard]] double thread_busy() const { return lived_s > 0 ? thread_s / lived_s : 0; }
  // Share of the time in which they could run that they waited for a core.
  [[nodiscard]] double delayed() const { return cpu_s + run_delay_s > 0 ? run_delay_s / (cpu_s + run_delay_s) : 0; }
};

// Nothing if they lived for less than a tenth of the run together.
[[nodiscard]] RoleSum sum_of(const RunProfile& profile, ProcessRole role);

// Waits of the main thread of the main process; of several ranks the mean.
[[nodiscard]] ThreadWaits main_thread_waits(const RunProfile& profile);

// Share of the time in which the main thread waits for the next batch, or prepares it, also without a loader that is
// known (own_loop.h, tf_generator.h); negative: no stacks are known.
[[nodiscard]] double input_share(const RunProfile& profile);

// Waits of what reads the data, the workers or without them the main thread, in reads of files and sockets. Shares of
// its time, 0..1.
struct ReadUse {
  bool workers = false;
  double files = 0, sockets = 0;
  double lost = 0;  // of the main thread's time, that it waits for them
  [[nodiscard]] bool limits() const { return files + sockets >= (workers ? 0.4 : 0.1) && lost >= 0.1; }
};
[[nodiscard]] ReadUse read_use(const RunProfile& profile);
// The share of the main thread's time that its system calls use on a CPU, at most: in the kernel, without page faults.
// 0: unknown.
[[nodiscard]] double calls_share(const RunProfile& profile);
// The part of the time in which the main thread waits and some task waits for a device.
[[nodiscard]] double waits_for_devices(const RunProfile& profile);

// Whether the workers of a loader limit the main process: they run, or wait for a core, most of the time, and the main
// process waits for batches.
[[nodiscard]] bool loader_limits(const RunProfile& profile);

// What further cores gain that could do `more` times the present work. They do 0.85 of it, between 0.65 and 1: cores
// share caches and memory, and the main process competes with its workers. Measured with examples/slow and
// examples/slow_to_fast on two cores: 0.64 to 0.97.
[[nodiscard]] GainPrediction gain_by_more(double more);

// The largest gain that the free cores permit, and `spinning` ones; see spinning_cores().
[[nodiscard]] GainPrediction gain_by_cores(const RunProfile& profile, double spinning = 0);

// The gain that the cores permit if the workers of the loader need `rest` of their CPU time for the same data, and the
// main processes as much as now.
[[nodiscard]] GainPrediction gain_by_less_work(const RunProfile& profile, double rest);

// With fewer samples of a busy GPU, its clock and its link permit no conclusion.
inline constexpr std::int64_t kFewestBusySamples = 10;

// 1 / (1 - share), at most 100, for a share of the main thread's time that is known from samples of `seconds`; the
// interval is their 95 % confidence interval. seconds = 0: without an interval.
[[nodiscard]] GainPrediction gain_without(double share, double seconds = 0);

// The gain if the main thread reads kLongerReads times as much by one call: a common size of reads from storage, 64 to
// 256 KB, instead of 4 to 16 KB. `waits` for reads and the CPU time of its
// `calls` are shares of its time. The CPU time is divided by this number, and so are waits as far as the storage needs
// time for each request, while its time for each byte remains. Which part is which is unknown: waits are divided by the
// geometric mean, the square root of the number. The interval reaches from saving only one of both, the smaller one, to
// saving both. `calls` = 0: unknown, or not more than page faults explain: no prediction. `seconds`: as gain_without().
inline constexpr double kLongerReads = 16;
[[nodiscard]] GainPrediction gain_by_longer_reads(double waits, double calls, double seconds);

// The same; if `calls` is 0 although the CPU time of the main thread in the kernel is known, the bound that all of it
// and nearly all waits are saved.
[[nodiscard]] GainPrediction gain_by_longer_reads(const RunProfile& profile, double waits);

// The smaller gain, the smaller ends of the intervals; without an interval if one has none.
[[nodiscard]] GainPrediction least_of(const GainPrediction& a, const GainPrediction& b);

// The gain if further cores work as the first one does and `waits`, a share of the main thread's time, vanishes.
[[nodiscard]] double possible_gain(const RunProfile& profile, double waits, double spinning = 0);

// The part of the time that `gain` saves.
[[nodiscard]] double lost_by(const GainPrediction& gain);

// The smallest machine that is enough for the program at the speed it had: whole cores for its CPU time after the
// start, with a tenth to spare but not more cores than it had, and the largest memory of processes that ran at the same
// time; memory that they share counts for each.
struct SufficientMachine {
  int cores = 0;  // 0: unknown, also after less than kShortestWatch
  std::int64_t memory_bytes = 0;
};
[[nodiscard]] SufficientMachine sufficient_machine(const RunProfile& profile);

// Cores that other programs leave to this one: with a CPU quota, they take from it only if they use more than the rest
// of the machine.
[[nodiscard]] double left_cores(const RunProfile& profile);
// The share of the usable cores that other programs take, 0..1.
[[nodiscard]] double taken_share(const RunProfile& profile);

// Usable cores that no program used.
[[nodiscard]] double free_cores(const RunProfile& profile);

// Threads that compute operators together with the main thread: they have its name and execute no Python. Only known
// with stacks; without them, all figures are 0. Each is the mean of the main processes.
struct OperatorThreads {
  double threads = 0;   // without the main thread
  double cores = 0;     // that they use
  double runnable = 0;  // the same, and those for which they wait
};
[[nodiscard]] OperatorThreads operator_threads(const RunProfile& profile);

// Cores on which such threads wait for work in a loop, as OpenMP in PyTorch lets them: what they use beyond the time in
// which the main thread does not wait for batches or prepare them. A lower bound.
[[nodiscard]] double spinning_cores(const RunProfile& profile);
inline constexpr double kFewestSpinning = 0.3;  // less is not worth a finding
// What to do about them.
[[nodiscard]] Changes no_spinning();

}  // namespace unstarve
