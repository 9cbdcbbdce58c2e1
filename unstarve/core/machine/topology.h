#pragma once
// The number of CPUs this process may use, from its affinity mask, cpuset and cgroup quota.
//
// Failure: never throws; a limit that cannot be read counts as "no limit". Threads: pure, except that it reads files.

#include <filesystem>
#include <string>

namespace unstarve {

struct Topology {
  int online = 1;    // CPUs of the machine
  int affinity = 1;  // in this process's affinity mask (includes the cpuset)
  double quota = 0;  // cgroup CPU quota in cores, 0 for none: the minimum along the path of v2 cpu.max or v1 cfs_quota
  int numa_nodes = 1;
  int threads_per_core = 1;

  // The default for thread counts: min(affinity, floor(quota)), at least 1.
  [[nodiscard]] int usable() const;
};

// `root` is prepended to /proc and /sys, for tests on recorded trees. `process`: its number, or "self". The affinity
// mask of this thread comes from the kernel, others from <root>/proc/<process>/status.
[[nodiscard]] Topology read_topology(const std::filesystem::path& root = "/", const std::string& process = "self");

// Threads for work that gains from up to `most`: no more than the CPUs of this thread's affinity mask, at least 1.
// Ignores the quota, which takes as long to read as a list of 500 files. Precondition: most >= 1.
[[nodiscard]] int threads_up_to(int most);

}  // namespace unstarve
