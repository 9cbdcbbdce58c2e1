#pragma once
// Sums over the processes of a profile that several rules need.
//
// Threads: pure functions. Failure: none.

#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

struct RoleSum {
  int processes = 0;   // at the same time, at most
  double lived_s = 0;  // wall time of all
  double cpu_s = 0;
  double run_delay_s = 0;
  double thread_s = 0;  // CPU time of the busiest thread of each

  // Shares of their wall time, 0..1 for a process with one thread.
  [[nodiscard]] double busy() const { return lived_s > 0 ? cpu_s / lived_s : 0; }
  [[nodiscard]] double thread_busy() const { return lived_s > 0 ? thread_s / lived_s : 0; }
  // Share of the time in which they could run that they waited for a core.
  [[nodiscard]] double delayed() const { return cpu_s + run_delay_s > 0 ? run_delay_s / (cpu_s + run_delay_s) : 0; }
};

// Nothing if they lived for less than a tenth of the run together.
[[nodiscard]] RoleSum sum_of(const RunProfile& profile, ProcessRole role);

// Whether the workers of a loader limit the main process: they run, or wait for a core, most of the time, and the main
// process does not.
[[nodiscard]] bool loader_limits(const RoleSum& loader, const RoleSum& main);

// Usable cores that no program used.
[[nodiscard]] double free_cores(const RunProfile& profile);

// Cores of the affinity mask that programs outside of the tree used.
[[nodiscard]] double foreign_cores(const RunProfile& profile);

}  // namespace unstarve
