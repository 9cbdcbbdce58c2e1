// Other programs, or other virtual machines, use the cores.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_other_programs(const RunProfile& profile) {
  const RoleSum main = sum_of(profile, ProcessRole::kMain), loader = sum_of(profile, ProcessRole::kLoader);
  const double affinity = profile.machine.affinity_cores, stolen = profile.machine.stolen_share;
  const RoleSum& limit = loader_limits(profile) ? loader : main;
  const double delayed = limit.delayed();
  RunFinding finding;
  // The hypervisor delays a program only while it runs.
  const double busy = profile.machine.busy_cores / affinity;
  const double lost_to_hypervisor = stolen > 0 ? std::min(limit.thread_busy(), 1.0) * stolen / (stolen + busy) : 0;
  if (stolen >= 0.05 && lost_to_hypervisor >= 0.05) {
    finding.title = "other virtual machines use the cores";
    finding.evidence = fmt::format("the hypervisor took {:.0f} % of the time of {:.0f} cores", 100 * stolen, affinity);
    finding.change = "use a machine with dedicated cores";
    finding.gain.gain = 1 / std::max(1 - lost_to_hypervisor, 0.1);
    finding.lost = lost_to_hypervisor;
    return finding;
  }
  const double taken = taken_share(profile);
  // Waiting for a core costs nothing while there is nothing to do.
  const double lost = limit.lived_s > 0 ? std::min(limit.run_delay_s / limit.lived_s, delayed) : 0;
  if (delayed < 0.1 || lost < 0.05 || taken < 0.2) return std::nullopt;
  finding.title = "other programs use the cores";
  finding.evidence = fmt::format(
      "other programs use {:.1f} of {:.0f} cores; {} waited for a core for {:.0f} % of the time in which it could run",
      foreign_cores(profile), affinity, loader_limits(profile) ? "the loader" : "the main process", 100 * delayed);
  finding.change = "stop the other programs, or reserve cores for this one (taskset, cpusets)";
  finding.gain.gain = std::min(1 / std::max(1 - lost, 0.1), 1 / std::max(1 - taken, 0.1));
  finding.lost = lost_by(finding.gain);
  return finding;
}

}  // namespace

const Rule kOtherPrograms{
    "other-programs",
    "other programs take a fifth of the usable cores (affinity and quota), and the main process, or the loader that "
    "limits it, waited for a core for 10 % of the time in which it could run and for 5 % of all time; or the "
    "hypervisor took 5 % of the time of the cores, and by that 5 % of the time of this process",
    find_other_programs};

}  // namespace unstarve
