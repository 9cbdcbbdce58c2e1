// Operator threads need cores that the loader, or other programs, use. Each waits in a loop for the others, also
// for those that have no core, and so takes cores from the loader.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

// Cores used by, and runnable threads among, all that prepares data: workers, and threads of the main processes with
// other names than their main threads.
struct Preparation {
  double cores = 0, runnable = 0;
};

Preparation preparation_of(const RunProfile& profile) {
  const RoleSum loader = sum_of(profile, ProcessRole::kLoader);
  double cpu_s = loader.cpu_s, delay_s = loader.run_delay_s;
  for (const ProcessUse& process : steady_processes(profile)) {
    if (process.role != ProcessRole::kMain) continue;
    for (const ThreadUse& group : process.threads) {
      if (group.name == process.main_thread.name) continue;
      cpu_s += group.cpu_s;
      delay_s += group.run_delay_s;
    }
  }
  const double seconds = std::max(steady_seconds(profile), 0.01);
  return {cpu_s / seconds, (cpu_s + delay_s) / seconds};
}

std::optional<RunFinding> find_spinning_threads(const RunProfile& profile) {
  const RoleSum main = sum_of(profile, ProcessRole::kMain);
  const OperatorThreads operators = operator_threads(profile);
  const Preparation preparation = preparation_of(profile);
  const double foreign = foreign_cores(profile), computes = 1 - std::max(input_share(profile), 0.0);
  if (main.delayed() < 0.3 || free_cores(profile) >= 0.5 * main.processes) return std::nullopt;
  if (preparation.runnable + foreign < 0.3) return std::nullopt;
  const bool openmp = std::ranges::any_of(profile.processes, [](const ProcessUse& process) {
    return process.role == ProcessRole::kMain && process.has_openmp;
  });
  if (!openmp && libraries_of(profile).count() == 0) return std::nullopt;
  if (operators.runnable < std::max(0.8 * computes, 0.3)) return std::nullopt;
  const double cores = usable_cores(profile.machine), spinning = spinning_cores(profile);
  // If only other programs take the cores, threads that compute all the time look the same as threads that wait.
  if (preparation.runnable < 0.3 && spinning < kFewestSpinning) return std::nullopt;
  RunFinding finding;
  finding.title = "operator threads busy-wait on cores that other threads need";
  finding.evidence = fmt::format(
      "{:.1f} threads that compute operators could run at the same time, and use {:.1f} cores{}; the main process "
      "waited for a core for {:.0f} % of the time in which it could run; {}other programs used {:.1f} of {:.1f} cores",
      operators.runnable, operators.cores,
      spinning >= 0.05 ? fmt::format(", at least {:.1f} of them while the main thread waits for batches", spinning)
                       : "",
      100 * main.delayed(),
      preparation.runnable < 0.05
          ? ""
          : fmt::format("{:.1f} threads that prepare data could run at the same time, and ", preparation.runnable),
      foreign, cores);
  const int fitting = std::max(1, static_cast<int>((cores - foreign - preparation.runnable) / main.processes));
  const std::string fewer = "use fewer operator threads than cores: ";
  finding.changes = {fmt::format("{}the variable OMP_NUM_THREADS={}", fewer, fitting),
                     fmt::format("{}torch.set_num_threads({}) in the main process, or the variable OMP_NUM_THREADS={}",
                                 fewer, fitting, fitting),
                     fmt::format("{}tf.config.threading.set_intra_op_parallelism_threads({})", fewer, fitting),
                     fmt::format("{}the variable NPROC={}, which XLA reads at its start", fewer, fitting),
                     fmt::format("{}unstarve train --operator-threads {}", fewer, fitting)};
  // At most, the loader has all cores that are left.
  if (preparation.cores >= 0.1) finding.gain.gain = std::max((cores - foreign) / preparation.cores, 1.0);
  finding.lost = finding.gain.gain > 0 ? lost_by(finding.gain) : main.delayed() * (1 - taken_share(profile));
  if (finding.gain.gain <= 0)
    finding.evidence += fmt::format(
        "; without these waits, the throughput is at least {:.1f} times as high; it cannot be predicted, because each "
        "operator also waits until its last thread has had a core",
        gain_without(finding.lost).gain);
  return finding;
}

}  // namespace

const Rule kSpinningThreads{
    "spinning-threads",
    "all of: the main process waited for a core for 30 % of the time in which it could run; less than half a core per "
    "main process is free; threads with the name of the main thread that execute no Python are runnable for 80 % of "
    "the time in which the main thread does not wait for batches, and for 30 % of all time; threads that prepare data "
    "could use 0.3 cores, or other programs could and these threads use 0.3 cores while the main thread waits for "
    "batches; a library that computes operators is known (OpenMP, OpenBLAS, torch, TensorFlow, JAX)",
    find_spinning_threads};

}  // namespace unstarve
