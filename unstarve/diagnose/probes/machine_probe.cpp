#include "unstarve/diagnose/probes/machine_probe.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "unstarve/core/machine/topology.h"
#include "unstarve/observe/kernel_files.h"

namespace unstarve {
namespace {

using kernel::read_text;

double share(std::int64_t microseconds, double seconds) {
  return seconds > 0 ? std::clamp(1e-6 * static_cast<double>(microseconds) / seconds, 0.0, 1.0) : 0;
}

}  // namespace

MachineProbe::MachineProbe(int process, std::filesystem::path root)
    : root_(std::move(root)),
      process_(std::to_string(process)),
      groups_(cpu_groups(root_, process_)),
      memory_groups_(memory_groups(root_, process_)) {
  // A container has its own network. The file disappears with the process.
  network_file_ = root_ / "proc" / process_ / "net/dev";
  if (!parse_network_bytes(read_text(network_file_))) network_file_ = root_ / "proc/net/dev";
  look();
  first_ = last_;
}

MachineProbe::Counts MachineProbe::counts() const {
  Counts counts;
  if (auto cpus = parse_cpu_ticks(read_text(root_ / "proc/stat"), cpus_)) counts.cpus = std::move(*cpus);
  // The pressure on the cgroup if it has one: that on the machine includes other containers.
  const auto pressure = [&](const std::string& resource) {
    std::optional<std::int64_t> microseconds;
    if (!groups_.empty() && groups_[0].v2)
      microseconds = parse_pressure_us(read_text(groups_[0].folder / (resource + ".pressure")));
    if (!microseconds) microseconds = parse_pressure_us(read_text(root_ / "proc/pressure" / resource));
    return microseconds.value_or(0);
  };
  counts.cpu_us = pressure("cpu");
  counts.io_us = pressure("io");
  counts.memory_us = pressure("memory");
  for (const Cgroup& group : groups_)
    counts.quotas.push_back(parse_quota_periods(read_text(group.folder / "cpu.stat")).value_or(QuotaPeriods{}));
  counts.network = parse_network_bytes(read_text(network_file_)).value_or(last_.network);
  return counts;
}

// A launcher may move the program to another cgroup (systemd-run, a job scheduler): periods count from then on. When it
// has ended, the latest groups remain.
void MachineProbe::look_at_groups() {
  const auto folders = [](const std::vector<Cgroup>& groups) {
    std::vector<std::filesystem::path> result;
    for (const Cgroup& group : groups) result.push_back(group.folder);
    return result;
  };
  std::vector<Cgroup> groups = cpu_groups(root_, process_);
  if (groups.empty() || folders(groups) == folders(groups_)) return;
  groups_ = std::move(groups);
  memory_groups_ = memory_groups(root_, process_);
  const Counts now = counts();
  first_.quotas = now.quotas;
  // The pressure of the new group, as if it had been as now from the beginning.
  first_.cpu_us += now.cpu_us - last_.cpu_us;
  first_.io_us += now.io_us - last_.io_us;
  first_.memory_us += now.memory_us - last_.memory_us;
}

void MachineProbe::look() {
  const std::string status = read_text(root_ / "proc" / process_ / "status");
  // The cgroup of a process that has ended is "/" with version 1: it was not moved there.
  if (status.find("\nState:\tZ") == std::string::npos) look_at_groups();
  // A program may be bound to CPUs after its start (taskset). When it has ended, the latest mask remains.
  std::set<int> cpus = parse_allowed_cpus(status);
  if (!cpus.empty() && cpus != cpus_) {
    cpus_ = std::move(cpus);
    first_.cpus = counts().cpus;
  }
  if (const Topology topology = read_topology(root_, process_); topology.quota > 0) quota_cores_ = topology.quota;
  Counts now = counts();
  if (!now.cpus.empty()) last_ = std::move(now);
  for (const Cgroup& group : memory_groups_) {
    const auto bytes = static_cast<std::int64_t>(memory_limit(group));
    if (bytes > 0 && (memory_limit_bytes_ == 0 || bytes < memory_limit_bytes_)) memory_limit_bytes_ = bytes;
  }
  struct statvfs shm {};
  // A container has its own; that of this process if the other one cannot be read.
  if (::statvfs((root_ / "proc" / process_ / "root/dev/shm").c_str(), &shm) != 0 &&
      (shm_bytes_ > 0 || ::statvfs((root_ / "dev/shm").c_str(), &shm) != 0))
    return;
  const auto block = static_cast<std::int64_t>(shm.f_frsize);
  shm_bytes_ = block * static_cast<std::int64_t>(shm.f_blocks);
  shm_used_bytes_ = std::max(shm_used_bytes_, block * static_cast<std::int64_t>(shm.f_blocks - shm.f_bfree));
}

MachineUse MachineProbe::use(double seconds) const {
  MachineUse use;
  use.affinity_cores = std::max<int>(1, static_cast<int>(cpus_.size()));
  use.quota_cores = quota_cores_;
  CpuTicks sum;
  for (const auto& [cpu, last] : last_.cpus) {
    const auto found = first_.cpus.find(cpu);
    if (found == first_.cpus.end()) continue;
    const CpuTicks& first = found->second;
    const CpuTicks used{last.busy - first.busy, last.idle - first.idle, last.stolen - first.stolen};
    sum = {sum.busy + used.busy, sum.idle + used.idle, sum.stolen + used.stolen};
    const auto all = static_cast<double>(used.busy + used.idle + used.stolen);
    if (all > 0)
      use.cores.push_back({cpu, static_cast<double>(used.busy) / all, static_cast<double>(used.stolen) / all});
  }
  if (const auto all = static_cast<double>(sum.busy + sum.idle + sum.stolen); all > 0) {
    use.stolen_share = static_cast<double>(sum.stolen) / all;
    use.busy_cores = use.affinity_cores * static_cast<double>(sum.busy) / all;
  }
  if (seconds > 0) {
    use.received_bytes_per_s = static_cast<double>(last_.network.received - first_.network.received) / seconds;
    use.sent_bytes_per_s = static_cast<double>(last_.network.sent - first_.network.sent) / seconds;
  }
  for (std::size_t i = 0; i < std::min(first_.quotas.size(), last_.quotas.size()); ++i) {
    const auto periods = static_cast<double>(last_.quotas[i].all - first_.quotas[i].all);
    const auto stopped = static_cast<double>(last_.quotas[i].stopped - first_.quotas[i].stopped);
    if (periods > 0) use.throttled_share = std::max(use.throttled_share, stopped / periods);
  }
  use.cpu_pressure = share(last_.cpu_us - first_.cpu_us, seconds);
  use.io_pressure = share(last_.io_us - first_.io_us, seconds);
  use.memory_pressure = share(last_.memory_us - first_.memory_us, seconds);
  use.shm_bytes = shm_bytes_;
  use.shm_used_bytes = shm_used_bytes_;
  use.memory_limit_bytes = memory_limit_bytes_;
  return use;
}

}  // namespace unstarve
