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
  const bool delays_main = main.delayed() >= 0.05;
  if (!delays_main && !(loader_limits(profile) && loader.delayed() >= 0.3)) return std::nullopt;
  const int fitting = std::max(1, static_cast<int>(cores) / main.processes);
  RunFinding finding;
  finding.title = fmt::format("{} workers share {:.1f} cores", loader.processes, cores);
  finding.evidence = fmt::format(
      "workers waited for a core for {:.0f} % of the time in which they could run, the main process for {:.0f} %",
      100 * loader.delayed(), 100 * main.delayed());
  finding.changes = {
      fmt::format("use {} {} for each main process: more cannot run at the same time", fitting,
                  fitting == 1 ? "worker" : "workers"),
      fmt::format("DataLoader(num_workers={}): more cannot run at the same time", fitting),
      fmt::format("PyDataset(workers={}): more cannot run at the same time", fitting),
      fmt::format("grain.DataLoader(worker_count={}): more cannot run at the same time", fitting),
      fmt::format("options(workers={}) for the functions of map(): more cannot run at the same time", fitting)};
  finding.lost = std::min(main.run_delay_s / main.lived_s, 1.0);
  return finding;
}

}  // namespace

const Rule kManyWorkers{
    "many-workers",
    "there are more workers than usable cores (affinity and quota), and the main process waited for a core for 5 % of "
    "the time in which it could run, or the workers limit it and waited for 30 %",
    find_many_workers};

}  // namespace unstarve
