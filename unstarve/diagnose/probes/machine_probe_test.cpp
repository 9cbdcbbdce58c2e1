#include "unstarve/diagnose/probes/machine_probe.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// Files of /proc and /sys in a folder that the destructor removes.
class Machine {
 public:
  Machine() : root_(fs::temp_directory_path() / ("unstarve-machine-probe-" + std::to_string(getpid()))) {
    write("proc/self/mountinfo", "25 1 0:21 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    write("proc/7/cgroup", "0::/pod/container\n");
    write("proc/7/status", "Name:\tx\nCpus_allowed_list:\t0,2\n");
    write("sys/fs/cgroup/pod/container/cpu.max", "max 100000\n");
    write("sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
    write("sys/fs/cgroup/pod/container/memory.max", "max\n");
    write("sys/fs/cgroup/pod/memory.max", "2147483648\n");
    write("sys/devices/system/cpu/online", "0-3\n");
    fs::create_directories(root_ / "dev/shm");
  }
  ~Machine() { fs::remove_all(root_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  [[nodiscard]] const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

TEST_CASE("what the machine and the container of a process did") {
  const Machine machine;
  machine.write("proc/stat", "cpu0 100 0 0 900 0 0 0 0\ncpu1 5 0 0 5 0 0 0 0\ncpu2 0 0 0 1000 0 0 0 0\n");
  machine.write("proc/pressure/io", "some avg10=0 avg60=0 avg300=0 total=1000000\n");
  machine.write("sys/fs/cgroup/pod/container/io.pressure", "some avg10=0 avg60=0 avg300=0 total=500000\n");
  machine.write("sys/fs/cgroup/pod/container/cpu.stat", "nr_periods 0\nnr_throttled 0\n");
  machine.write("sys/fs/cgroup/pod/cpu.stat", "nr_periods 100\nnr_throttled 10\n");
  machine.write("proc/net/dev", "  lo: 9 0 0 0 0 0 0 0 9 0\n eth0: 1000 1 0 0 0 0 0 0 500 2 0\n");
  MachineProbe probe(7, machine.root());
  machine.write("proc/net/dev", "  lo: 9000 0 0 0 0 0 0 0 9000 0\n eth0: 3000 1 0 0 0 0 0 0 5500 2 0\n");
  machine.write("proc/stat", "cpu0 1000 0 0 1000 0 0 0 0\ncpu1 9 0 0 9999 0 0 0 0\ncpu2 0 0 0 1500 0 0 0 500\n");
  machine.write("proc/pressure/io", "some avg10=0 avg60=0 avg300=0 total=9000000\n");
  machine.write("sys/fs/cgroup/pod/container/io.pressure", "some avg10=0 avg60=0 avg300=0 total=3000000\n");
  machine.write("sys/fs/cgroup/pod/cpu.stat", "nr_periods 200\nnr_throttled 40\n");
  probe.look();
  const MachineUse use = probe.use(10);
  CHECK(use.affinity_cores == 2);
  CHECK(use.quota_cores == 1.5);  // of the group above
  CHECK(usable_cores(use) == 1.5);
  CHECK(use.busy_cores == Approx(0.9));  // on CPUs 0 and 2
  CHECK(use.stolen_share == Approx(0.25));
  REQUIRE(use.cores.size() == 2);
  CHECK(use.cores[0].cpu == 0);
  CHECK(use.cores[0].busy_share == Approx(0.9));
  CHECK(use.cores[1].cpu == 2);
  CHECK(use.cores[1].busy_share == 0);
  CHECK(use.cores[1].stolen_share == Approx(0.5));
  CHECK(use.throttled_share == Approx(0.3));
  CHECK(use.io_pressure == Approx(0.25));  // of the container, not of the machine
  CHECK(use.shm_bytes > 0);
  CHECK(use.memory_limit_bytes == std::int64_t{2} << 30);
  CHECK(use.received_bytes_per_s == Approx(200));
  CHECK(use.sent_bytes_per_s == Approx(500));
  CHECK(probe.network().sent == 5500);
}

TEST_CASE("limits of a container with cgroups of version 1") {
  const Machine machine;
  machine.write("proc/self/mountinfo",
                "700 690 0:30 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
                "701 690 0:31 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  machine.write("proc/7/cgroup", "9:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc/sub\n");
  machine.write("proc/stat", "cpu0 1 0 0 1 0 0 0 0\n");
  machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 100\nnr_throttled 10\nthrottled_time 5\n");
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  MachineProbe probe(7, machine.root());
  CHECK(probe.use(10).memory_limit_bytes == 0);
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 200\nnr_throttled 60\nthrottled_time 9\n");
  machine.write("proc/stat", "cpu0 2 0 0 2 0 0 0 0\n");
  probe.look();
  const MachineUse use = probe.use(10);
  CHECK(use.memory_limit_bytes == std::int64_t{1} << 30);
  CHECK(use.quota_cores == 0.5);
  CHECK(use.throttled_share == Approx(0.5));
  // Ended, and not yet waited for.
  machine.write("proc/7/status", "Name:\tx\nState:\tZ (zombie)\nCpus_allowed_list:\t0,2\n");
  machine.write("proc/7/cgroup", "9:memory:/\n4:cpu,cpuacct:/\n");
  probe.look();
  CHECK(probe.use(10).quota_cores == 0.5);
  CHECK(probe.use(10).throttled_share == Approx(0.5));
}

TEST_CASE("a process that binds itself to other CPUs, and then ends") {
  const Machine machine;
  machine.write("proc/stat", "cpu0 1 0 0 1 0 0 0 0\ncpu1 1000 0 0 9000 0 0 0 0\ncpu2 1 0 0 1 0 0 0 0\n");
  MachineProbe probe(7, machine.root());
  machine.write("proc/7/status", "Cpus_allowed_list:\t1\n");
  probe.look();
  fs::remove_all(machine.root() / "proc/7");
  machine.write("proc/stat", "cpu0 99 0 0 1 0 0 0 0\ncpu1 1500 0 0 9500 0 0 0 0\ncpu2 99 0 0 1 0 0 0 0\n");
  probe.look();
  CHECK(probe.use(10).affinity_cores == 1);
  CHECK(probe.use(10).busy_cores == Approx(0.5));
  CHECK(probe.use(10).quota_cores == 1.5);
}

TEST_CASE("a process that is moved to another cgroup") {
  const Machine machine;
  machine.write("proc/stat", "cpu0 1 0 0 1 0 0 0 0\n");
  machine.write("sys/fs/cgroup/pod/cpu.stat", "nr_periods 100\nnr_throttled 100\n");
  MachineProbe probe(7, machine.root());
  machine.write("proc/7/cgroup", "0::/job\n");
  machine.write("sys/fs/cgroup/job/cpu.max", "50000 100000\n");
  machine.write("sys/fs/cgroup/job/cpu.stat", "nr_periods 500\nnr_throttled 400\n");
  probe.look();
  CHECK(probe.use(10).quota_cores == 0.5);
  CHECK(probe.use(10).throttled_share == 0);  // what the group counted before
  machine.write("sys/fs/cgroup/job/cpu.stat", "nr_periods 600\nnr_throttled 430\n");
  probe.look();
  CHECK(probe.use(10).throttled_share == Approx(0.3));
  fs::remove_all(machine.root() / "proc/7");
  probe.look();
  CHECK(probe.use(10).throttled_share == Approx(0.3));
}

TEST_CASE("a machine of which nothing can be read") {
  const MachineUse use = MachineProbe(7, "/no/such/folder").use(10);
  CHECK(use.affinity_cores == 1);
  CHECK(use.busy_cores == 0);
  CHECK(use.quota_cores == 0);
}

}  // namespace
}  // namespace unstarve
