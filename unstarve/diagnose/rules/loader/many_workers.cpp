// More workers than cores: they take CPU time from each other and from the main process.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_many_workers(const RunProfile& profile) {
  const RoleSum loader = sum_of(profile, ProcessRole::kLoader), main = sum_of(profile, ProcessRole::kMain);
  const double cores = usable_cores(profile.machine);
  if (main.processes == 0 || loader.processes <= std::ceil(cores)) return std::nullopt;
  // The main process waits for a core because of workers at most for the time that they are on one.
  const double explained_s = std::min(main.run_delay_s, loader.cpu_s);
  const bool delays_main = explained_s > 0 && explained_s >= 0.05 * (main.cpu_s + main.run_delay_s);
  if (!delays_main && !(loader_limits(profile) && loader.delayed() >= 0.3)) return std::nullopt;
  const int fitting = std::max(1, static_cast<int>(cores) / main.processes);
  RunFinding finding;
  finding.title = fmt::format("{} workers share {:.1f} cores", loader.processes, cores);
  finding.evidence = fmt::format(
      "workers waited for a core for {:.0f} % of the time in which they could run, the main process for {:.0f} %",
      100 * loader.delayed(), 100 * main.delayed());
  const char* const kWhy =
      ": more cannot run at the same time; if the main process still waits for them, samples must need less CPU time";
  finding.changes = {
      fmt::format("use {} {} for each main process{}", fitting, fitting == 1 ? "worker" : "workers", kWhy),
      fmt::format("DataLoader(num_workers={}, persistent_workers=True){}", fitting, kWhy),
      fmt::format("PyDataset(workers={}){}", fitting, kWhy),
      fmt::format("grain.DataLoader(worker_count={}){}", fitting, kWhy),
      fmt::format("options(workers={}) for the functions of map(){}", fitting, kWhy)};
  // Fewer workers leave the main process its core, and workers that limit it lose less time by taking turns.
  const double input = input_share(profile), delayed = std::min(explained_s / main.lived_s, 1.0);
  const double waits = loader_limits(profile) ? (input >= 0 ? input : 1 - main.thread_busy()) : 0;
  finding.lost = std::clamp(std::max(waits, delayed), 0.0, 1.0);
  if (const auto quota = kCpuQuota.find(profile); quota && waits > 0)  // more CPU time helps, not fewer workers
    finding.lost = std::min(finding.lost, 0.9 * quota->lost);
  // Workers that limit the main process need the same CPU time if they are fewer: what they save is unknown. Otherwise
  // an upper bound: part of the waits remains, and the main process needs more CPU time.
  if (waits <= 0) {
    const double most = left_cores(profile) * main.lived_s / std::max(main.processes * main.cpu_s, 0.01);
    finding.gain.gain = std::clamp(gain_without(finding.lost).gain, 1.0, std::max(most, 1.0));
  }
  return finding;
}

}  // namespace

const Rule kManyWorkers{
    "many-workers",
    "there are more workers than usable cores (affinity and quota), and the main process waited for a core for 5 % of "
    "the time in which it could run, at most as long as workers were on a core; or the workers limit it and waited for "
    "30 %",
    find_many_workers};

}  // namespace unstarve
