#pragma once
// How many processors this process may really use: affinity mask, cpuset and cgroup quota, not the machine's count.
//
// Failure: never throws; what cannot be read counts as "no limit". Threads: pure apart from reading files.

#include <filesystem>
#include <string>

namespace unstarve {

struct Topology {
  int online = 1;    // processors of the machine
  int affinity = 1;  // in this process's affinity mask (includes the cpuset)
  double quota = 0;  // cgroup CPU quota in cores, 0 when none (v2 cpu.max or v1 cfs_quota, the least along the path)
  int numa_nodes = 1;
  int threads_per_core = 1;

  // What thread counts default to: min(affinity, floor(quota)), at least 1.
  [[nodiscard]] int usable() const;
};

// `root` is prepended to /proc and /sys, for tests on recorded trees; the affinity mask is asked of the kernel only
// when root is "/", else taken from <root>/proc/self/status.
[[nodiscard]] Topology read_topology(const std::filesystem::path& root = "/");

}  // namespace unstarve
