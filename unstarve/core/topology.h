#pragma once
// The number of CPUs this process may use, from its affinity mask, cpuset and cgroup quota; the cgroups that limit it.
//
// Failure: never throws; a limit that cannot be read counts as "no limit". Threads: pure, except that it reads files.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

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

// A cgroup that may limit a process.
struct Cgroup {
  std::filesystem::path folder;
  bool v2 = true;
};
// The groups that may limit the CPU time or the memory of the process, of both versions: its own and those above it, up
// to the mount point.
[[nodiscard]] std::vector<Cgroup> cpu_groups(const std::filesystem::path& root, const std::string& process);
[[nodiscard]] std::vector<Cgroup> memory_groups(const std::filesystem::path& root, const std::string& process);

// The memory limit of one group: memory.max of v2; of v1 memory.limit_in_bytes, or the least of its parents', which are
// not visible in a container (memory.stat). 0: none.
[[nodiscard]] std::uint64_t memory_limit(const Cgroup& group);

}  // namespace unstarve
