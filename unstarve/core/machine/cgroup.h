#pragma once
// The cgroups that limit the CPU time and the memory of a process, of both versions.
//
// Failure: never throws; a limit that cannot be read counts as "no limit". Threads: pure, except that it reads files.
// `root` is prepended to /proc and /sys, for tests on recorded trees. `process`: its number, or "self".

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

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

// The number after `key` in memory.stat of one group; 0: none.
[[nodiscard]] std::uint64_t memory_stat(const Cgroup& group, std::string_view key);

// The quota of one group in cores; 0: none.
[[nodiscard]] double cpu_quota(const Cgroup& group);

}  // namespace unstarve
