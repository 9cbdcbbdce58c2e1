// The CPU quota of the container stops the program.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

// Threads of the program that could run at the same time: a throttled thread waits for a core.
double runnable_threads(const RunProfile& profile) {
  double seconds = 0;
  for (const ProcessUse& process : steady_processes(profile)) seconds += process.cpu_s + process.run_delay_s;
  return steady_seconds(profile) > 0 ? seconds / steady_seconds(profile) : 0;
}

std::optional<RunFinding> find_cpu_quota(const RunProfile& profile) {
  const MachineUse& machine = profile.machine;
  if (machine.throttled_share < 0.05) return std::nullopt;
  RunFinding finding;
  finding.title = "the CPU quota of the container throttles the program";
  finding.evidence = fmt::format("tasks were throttled in {:.0f} % of the quota's periods; the quota is {:.1f} cores",
                                 100 * machine.throttled_share, machine.quota_cores);
  finding.change =
      "raise the quota (docker run --cpus, limits.cpu of Kubernetes), or use no more workers and operator threads in "
      "total than the quota has cores";
  finding.lost = machine.throttled_share;  // at most: in these periods, some task was throttled for some time
  if (machine.quota_cores <= 0) return finding;
  const double others = foreign_cores(profile), runnable = runnable_threads(profile);
  const double possible = std::min(std::max(machine.affinity_cores - others, 0.0), runnable);
  finding.gain = gain_by_more(std::max(possible / machine.quota_cores - 1, 0.0));
  finding.lost = std::min(finding.lost, lost_by(finding.gain));
  finding.evidence +=
      fmt::format("; {:.1f} threads could run at the same time, and other programs use {:.1f} of {} cores", runnable,
                  others, machine.affinity_cores);
  return finding;
}

}  // namespace

const Rule kCpuQuota{"cpu-quota",
                     "tasks of the cgroup, or of a parent cgroup, were throttled in 5 % of the quota's periods",
                     find_cpu_quota};

}  // namespace unstarve
