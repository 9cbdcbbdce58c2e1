// More threads compute in the main process than there are cores.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_operator_threads(const RunProfile& profile) {
  const RoleSum main = sum_of(profile, ProcessRole::kMain);
  const double cores = usable_cores(profile.machine);
  if (main.processes == 0 || main.delayed() < 0.2) return std::nullopt;
  const double taken = taken_share(profile);
  const bool framework = libraries_of(profile).count() > 0;
  for (const ProcessUse& process : steady_processes(profile)) {
    if (process.role != ProcessRole::kMain || process.cpu_s < 0.5 * main.cpu_s / main.processes) continue;
    const double lived = std::max(process.end_s - process.begin_s, 0.01);
    for (const ThreadUse& group : process.threads) {
      const double runnable = (group.cpu_s + group.run_delay_s) / lived;
      if (group.threads < 1.5 * cores || runnable < 1.3 * cores || group.cpu_s < 0.5 * process.cpu_s) continue;
      if (group.run_delay_s < 0.5 * process.run_delay_s) continue;
      // The main thread computes with them. Threads of a pool do not wait for each other: they lose nothing.
      if (process.main_thread.cpu_s + process.main_thread.run_delay_s < 0.5 * lived) continue;
      // Threads of the program itself: other programs explain that they wait.
      const bool operators = framework || process.has_openmp;
      if (!operators && taken >= 0.2) continue;
      RunFinding finding;
      finding.title = fmt::format("{} threads of the main process compute on {:.0f} cores", group.threads, cores);
      finding.evidence = fmt::format("they waited for a core for {:.0f} % of the time in which they could run",
                                     100 * group.run_delay_s / (group.cpu_s + group.run_delay_s));
      const int fitting = std::max(1, static_cast<int>(cores) / main.processes);
      const std::string threads = fmt::format("{} {}", fitting, fitting == 1 ? "thread" : "threads");
      finding.changes = {
          process.has_openmp
              ? fmt::format("use {} for operators: set the variable OMP_NUM_THREADS={}", threads, fitting)
              : fmt::format("start {} that compute, as many as there are cores", threads),
          fmt::format("use {}: torch.set_num_threads({}), or the variable OMP_NUM_THREADS={}", threads, fitting,
                      fitting),
          fmt::format("use {}: tf.config.threading.set_intra_op_parallelism_threads({})", threads, fitting),
          fmt::format("use {}: start with taskset --cpu-list 0-{}, which XLA counts", threads, fitting - 1),
          fmt::format("use {}: unstarve train --operator-threads {}", threads, fitting)};
      finding.lost = main.delayed() * (1 - taken);  // the rest is that of other-programs
      finding.evidence += fmt::format(
          "; without these waits, the throughput is at least {:.1f} times as high; it cannot be predicted, because "
          "each "
          "operator also waits until its last thread has had a core",
          gain_without(finding.lost).gain);
      return finding;
    }
  }
  return std::nullopt;
}

}  // namespace

const Rule kOperatorThreads{
    "operator-threads",
    "all of: the main process waited for a core for 20 % of the time in which it could run, mostly in threads with "
    "the same name; there are more than 1.5 times as many of these threads as usable cores; on average 1.3 times as "
    "many are runnable; the main thread is runnable for half of the time; a library that computes operators is known "
    "(OpenMP, OpenBLAS, torch, TensorFlow, JAX), or other programs take less than a fifth of the usable cores",
    find_operator_threads};

}  // namespace unstarve
