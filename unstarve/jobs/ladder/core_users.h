#pragma once
// What else used the cores of this process while it measured: other programs, the hypervisor, the CPU quota.
//
// Create it before the affinity mask of this thread is narrowed. Threads: one at a time. Failure: as MachineProbe.

#include <cstdint>

#include "unstarve/diagnose/probes/machine_probe.h"
#include "unstarve/observe/verdict.h"

namespace unstarve {

class CoreUsers {
 public:
  CoreUsers();

  // Sets free_cores, other_cores, stolen_share and throttled_share, since the construction.
  void finish(BenchFigures& figures);

 private:
  MachineProbe machine_;
  double begin_s_;
  std::int64_t begin_cpu_ns_;
};

// The part of CoreUsers that only computes. `own_cores`: busy cores of this process.
void set_core_users(const MachineUse& use, double own_cores, BenchFigures& figures);

}  // namespace unstarve
