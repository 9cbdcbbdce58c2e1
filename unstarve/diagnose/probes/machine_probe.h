#pragma once
// What the machine, or the container, of a process did between the start of a probe and its latest sample.
//
// Source:  /proc, the cgroups and the affinity mask of the process below `root` (tests pass recorded trees).
// Failure: never throws except std::bad_alloc; what cannot be read is 0. Threads: one at a time.

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "unstarve/core/machine/cgroup.h"
#include "unstarve/diagnose/probes/proc_text.h"
#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

class MachineProbe {
 public:
  explicit MachineProbe(int process, std::filesystem::path root = "/");

  void look();

  // `seconds`: from the start to the latest sample.
  [[nodiscard]] MachineUse use(double seconds) const;
  // Since the machine, or the container's network, started; of the latest sample.
  [[nodiscard]] const NetworkBytes& network() const { return last_.network; }

 private:
  struct Counts {
    std::map<int, CpuTicks> cpus;
    std::int64_t cpu_us = 0, io_us = 0, memory_us = 0;  // of pressure
    std::vector<QuotaPeriods> quotas;                   // by group
    NetworkBytes network;
  };
  [[nodiscard]] Counts counts() const;
  void look_at_groups();

  std::filesystem::path root_, network_file_;
  std::string process_;
  std::vector<Cgroup> groups_, memory_groups_;
  std::set<int> cpus_;  // of the affinity mask
  double quota_cores_ = 0;
  Counts first_, last_;
  std::int64_t shm_bytes_ = 0, shm_used_bytes_ = 0, memory_limit_bytes_ = 0;
};

}  // namespace unstarve
