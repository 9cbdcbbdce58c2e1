// The CPU quota of the container stops the program.

#include <fmt/format.h>

#include "unstarve/diagnose/rules/rule.h"

namespace unstarve {
namespace {

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
  finding.lost = machine.throttled_share;
  return finding;
}

}  // namespace

const Rule kCpuQuota{"cpu-quota",
                     "tasks of the cgroup, or of a parent cgroup, were throttled in 5 % of the quota's periods",
                     find_cpu_quota};

}  // namespace unstarve
