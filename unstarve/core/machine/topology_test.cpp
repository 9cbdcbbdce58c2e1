#include "unstarve/core/machine/topology.h"

#include <stdlib.h>
#include <catch2/catch.hpp>

#include <fstream>
#include <initializer_list>
#include <map>
#include <thread>

#include "unstarve/core/machine/cgroup.h"

using unstarve::read_topology;
using unstarve::threads_up_to;
using unstarve::Topology;
namespace fs = std::filesystem;

namespace {

// A tree of /proc and /sys as recorded on some machine: path to contents.
class Tree {
 public:
  Tree(std::initializer_list<std::pair<const char*, const char*>> files) {
    std::string name = (fs::temp_directory_path() / "unstarve-tree-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root_ = name;
    for (const auto& [path, contents] : files) {
      const fs::path file = root_ / path;
      fs::create_directories(file.parent_path());
      std::ofstream(file) << contents;
    }
  }
  ~Tree() { fs::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  [[nodiscard]] Topology read() const { return read_topology(root_); }
  [[nodiscard]] const fs::path& root() const { return root_; }
  // Of the groups of this process, its own first; 0 for a group without one.
  [[nodiscard]] std::vector<std::uint64_t> memory_limits() const {
    std::vector<std::uint64_t> limits;
    for (const unstarve::Cgroup& group : unstarve::memory_groups(root_, "self"))
      limits.push_back(unstarve::memory_limit(group));
    return limits;
  }

 private:
  fs::path root_;
};

}  // namespace

TEST_CASE("a desktop without limits has all CPUs and two threads per core") {
  const Tree tree{{"sys/devices/system/cpu/online", "0-15\n"},
                  {"sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,8\n"},
                  {"sys/devices/system/node/online", "0\n"},
                  {"proc/self/status", "Name:\tcat\nCpus_allowed:\tffff\nCpus_allowed_list:\t0-15\n"},
                  {"proc/self/cgroup", "0::/user.slice/user-1000.slice/session-3.scope\n"},
                  {"proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"},
                  {"sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"},
                  {"sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope/cpu.max", "max 100000\n"}};
  const Topology t = tree.read();
  CHECK(t.online == 16);
  CHECK(t.affinity == 16);
  CHECK(t.quota == 0);
  CHECK(t.threads_per_core == 2);
  CHECK(t.numa_nodes == 1);
  CHECK(t.usable() == 16);
}

TEST_CASE("cgroup v2 quota in a container with its own namespace") {
  const Tree tree{
      {"sys/devices/system/cpu/online", "0-63\n"},
      {"sys/devices/system/node/online", "0-1\n"},
      {"proc/self/status", "Cpus_allowed_list:\t0-63\n"},
      {"proc/self/cgroup", "0::/\n"},
      {"proc/self/mountinfo", "900 880 0:27 / /sys/fs/cgroup ro,nosuid,nodev,noexec - cgroup2 cgroup rw,nsdelegate\n"},
      {"sys/fs/cgroup/cpu.max", "250000 100000\n"}};
  const Topology t = tree.read();
  CHECK(t.quota == 2.5);
  CHECK(t.numa_nodes == 2);
  CHECK(t.usable() == 2);
}

TEST_CASE("the lowest quota of nested cgroups applies") {
  const Tree tree{{"sys/devices/system/cpu/online", "0-31\n"},
                  {"proc/self/status", "Cpus_allowed_list:\t0-31\n"},
                  {"proc/self/cgroup", "0::/slurm/job_7/step_0\n"},
                  {"proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"},
                  {"sys/fs/cgroup/slurm/cpu.max", "2000000 100000\n"},
                  {"sys/fs/cgroup/slurm/job_7/cpu.max", "300000 100000\n"},
                  {"sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "800000 100000\n"}};
  CHECK(tree.read().quota == 3);
  CHECK(tree.read().usable() == 3);
}

TEST_CASE("cgroup v1 with cpu and cpuacct mounted together and the container's folder as root") {
  const Tree tree{{"sys/devices/system/cpu/online", "0-7\n"},
                  {"proc/self/status", "Cpus_allowed_list:\t0-7\n"},
                  {"proc/self/cgroup",
                   "12:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc/sub\n3:cpuset:/docker/abc\n0::/system.slice\n"},
                  {"proc/self/mountinfo",
                   "700 690 0:30 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro master:13 - cgroup cgroup rw,cpu,cpuacct\n"
                   "701 690 0:31 /docker/abc /sys/fs/cgroup/cpuset ro master:14 - cgroup cgroup rw,cpuset\n"},
                  {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "400000\n"},
                  {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
                  {"sys/fs/cgroup/cpu,cpuacct/sub/cpu.cfs_quota_us", "-1\n"},
                  {"sys/fs/cgroup/cpu,cpuacct/sub/cpu.cfs_period_us", "100000\n"}};
  CHECK(tree.read().quota == 4);
  CHECK(tree.read().usable() == 4);
}

TEST_CASE("a quota in cgroup v1 applies if both versions are mounted") {
  const Tree tree{{"sys/devices/system/cpu/online", "0-3\n"},
                  {"proc/self/status", "Cpus_allowed_list:\t0-3\n"},
                  {"proc/self/cgroup", "2:cpuacct:/\n1:cpu:/\n0::/\n"},
                  {"proc/self/mountinfo",
                   "31 30 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                   "32 30 0:29 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"
                   "33 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"},
                  {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n"},
                  {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}};
  CHECK(tree.read().quota == 1.5);
  CHECK(tree.read().usable() == 1);
}

TEST_CASE("memory limits of cgroup v1: its own, those above it, and those that a container does not see") {
  const char* const none = "9223372036854771712\n";
  const Tree tree{
      {"proc/self/cgroup", "12:cpu:/\n9:memory:/docker/abc/sub\n0::/system.slice\n"},
      {"proc/self/mountinfo",
       "700 690 0:30 / /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"
       "701 690 0:31 /docker/abc /sys/fs/cgroup/memory ro master:14 - cgroup cgroup rw,memory\n"},
      {"sys/fs/cgroup/cpu/memory.limit_in_bytes", "1\n"},
      {"sys/fs/cgroup/memory/memory.limit_in_bytes", none},
      {"sys/fs/cgroup/memory/memory.stat", "cache 1\nhierarchical_memory_limit 3000000\ntotal_inactive_file 7\n"},
      {"sys/fs/cgroup/memory/sub/memory.limit_in_bytes", "4000000\n"}};
  CHECK(tree.memory_limits() == std::vector<std::uint64_t>{0, 0, 4'000'000, 3'000'000});  // first those of v2
  const Tree unlimited{{"proc/self/cgroup", "9:memory:/a\n"},
                       {"sys/fs/cgroup/memory/memory.limit_in_bytes", none},
                       {"sys/fs/cgroup/memory/a/memory.limit_in_bytes", none},
                       {"sys/fs/cgroup/memory/a/memory.stat", "hierarchical_memory_limit 9223372036854771712\n"}};
  CHECK(unlimited.memory_limits() == std::vector<std::uint64_t>{0, 0});
}

TEST_CASE("memory limits of cgroup v2 are read in the groups of the process, not in those of v1 controllers") {
  const Tree tree{{"proc/self/cgroup", "2:cpu:/\n0::/pod/container\n"},
                  {"proc/self/mountinfo",
                   "31 30 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                   "33 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"},
                  {"sys/fs/cgroup/unified/pod/container/memory.max", "max\n"},
                  {"sys/fs/cgroup/unified/pod/container/memory.stat", "hierarchical_memory_limit 5\n"},
                  {"sys/fs/cgroup/unified/pod/memory.max", "2147483648\n"}};
  CHECK(tree.memory_limits() == std::vector<std::uint64_t>{0, std::uint64_t{2} << 30, 0});
}

TEST_CASE("a cpuset limits the number of CPUs") {
  const Tree tree{{"sys/devices/system/cpu/online", "0-63\n"},
                  {"proc/self/status", "Cpus_allowed:\tf0f\nCpus_allowed_list:\t0-3,8,10-12\n"},
                  {"proc/self/cgroup", "0::/\n"},
                  {"sys/fs/cgroup/cpu.max", "1600000 100000\n"}};
  const Topology t = tree.read();
  CHECK(t.online == 64);
  CHECK(t.affinity == 8);
  CHECK(t.quota == 16);
  CHECK(t.usable() == 8);
}

TEST_CASE("a quota below one core results in one thread") {
  const Tree tree{{"sys/devices/system/cpu/online", "0-3\n"},
                  {"proc/self/cgroup", "0::/\n"},
                  {"sys/fs/cgroup/cpu.max", "50000 100000\n"}};
  CHECK(tree.read().quota == 0.5);
  CHECK(tree.read().affinity == 4);  // no mask recorded: all that are online
  CHECK(tree.read().usable() == 1);
}

TEST_CASE("a process in a cgroup outside its namespace uses the root of the mount") {
  const Tree tree{{"sys/devices/system/cpu/online", "0-7\n"},
                  {"proc/self/cgroup", "0::/../../other\n"},
                  {"proc/self/mountinfo", "30 22 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"},
                  {"sys/fs/cgroup/cpu.max", "200000 100000\n"}};
  CHECK(tree.read().quota == 2);
}

TEST_CASE("unreadable or invalid files mean no limit") {
  const Tree nothing{};
  CHECK(nothing.read().usable() == 1);
  CHECK(nothing.read().quota == 0);
  const Tree senseless{{"sys/devices/system/cpu/online", "7-3\n"},
                       {"sys/devices/system/node/online", "x\n"},
                       {"proc/self/status", "Cpus_allowed_list:\t0-99999999999\n"},
                       {"proc/self/cgroup", "::\n0\n0:\n\n"},
                       {"proc/self/mountinfo", "\n - \n1 2 3 - cgroup2\n"},
                       {"sys/fs/cgroup/cpu.max", "much 0\n"}};
  const Topology t = senseless.read();
  CHECK(t.online == 1);
  CHECK(t.affinity == 1);
  CHECK(t.quota == 0);
  CHECK(t.usable() == 1);
}

TEST_CASE("this machine has at least one usable CPU and no more than it has online") {
  const Topology t = read_topology();
  CHECK(t.usable() >= 1);
  CHECK(t.affinity <= t.online);
  CHECK(t.affinity == static_cast<int>(std::thread::hardware_concurrency()));
}

TEST_CASE("threads are limited by the CPUs of this thread") {
  const int cpus = read_topology().affinity;
  CHECK(threads_up_to(1) == 1);
  CHECK(threads_up_to(cpus) == cpus);
  CHECK(threads_up_to(cpus + 1) == cpus);
}
