// Workers of a loader that work all the time, while the main process waits for them and cores are free.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_few_workers(const RunProfile& profile) {
  const RoleSum loader = sum_of(profile, ProcessRole::kLoader), main = sum_of(profile, ProcessRole::kMain);
  const double free = free_cores(profile);
  if (!loader_limits(profile) || free < 0.5 * main.processes) return std::nullopt;
  // Both need more CPU time for more batches; and the main process cannot be faster than without waiting.
  const double input = input_share(profile);
  const double waits = input >= 0 ? input : 1 - main.thread_busy();
  const GainPrediction gain = least_of(
      gain_by_cores(profile), gain_without(waits, input >= 0 ? profile.stacks.seconds : steady_seconds(profile)));
  const double possible = possible_gain(profile, waits);
  if (possible < 1.1) return std::nullopt;
  const int workers = static_cast<int>(std::ceil(loader.processes * possible - 0.01));
  RunFinding finding;
  finding.title = "the main process waits for the workers of its loader, while cores are free";
  finding.evidence = fmt::format(
      "{} {} busy for {:.0f} % of the time; the main process waits for {:.0f} %; {:.1f} of {:.1f} cores are free",
      loader.processes, loader.processes == 1 ? "worker is" : "workers are", 100 * loader.busy(), 100 * waits, free,
      usable_cores(profile.machine));
  if (const std::string does = to_string(worker_shares(profile.stacks)); !does.empty())
    finding.evidence += "; a worker " + does;
  const int each = (workers + main.processes - 1) / main.processes;
  finding.changes = {
      fmt::format("use {} workers for each main process, or a loader that needs less CPU time per sample", each),
      fmt::format("DataLoader(num_workers={}, persistent_workers=True), or unstarve.open(), which needs less CPU time "
                  "per sample",
                  each),
      fmt::format("PyDataset(workers={}, use_multiprocessing=True), or dataset.map(f, "
                  "num_parallel_calls=tf.data.AUTOTUNE) instead of worker processes",
                  each),
      fmt::format("grain.DataLoader(worker_count={}), or unstarve.open(), which needs less CPU time per sample", each),
      fmt::format("options(workers={}) for the functions of map(); operations of unstarve need no workers", each)};
  finding.gain = gain;
  finding.lost = lost_by(gain);
  return finding;
}

}  // namespace

const Rule kFewWorkers{"few-workers",
                       "workers run or wait for a core for 90 % of the time, the main thread waits for batches for "
                       "10 % (without stacks: none of its threads runs for 80 %), and half a core per main process is "
                       "free",
                       find_few_workers};

}  // namespace unstarve
