// Problems of cores, NUMA nodes and memory.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "unstarve/jobs/doctor/findings.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kGigabyte = std::uint64_t{1} << 30;
// Eight DataLoader workers with two batches of 256 float images of 224 px each use about 2.5 GB of /dev/shm.
constexpr std::uint64_t kEnoughShm = 5 * kGigabyte / 2;
// libtorch with a ResNet, activations of a small batch, and the batch slots of the loader.
constexpr std::uint64_t kEnoughMemory = 2 * kGigabyte;
// Workers of a DataLoader share tensors by file descriptors: 8 workers with 16 batches of 8 tensors use about 1000.
constexpr std::uint64_t kEnoughFiles = 4096;
constexpr std::uint64_t kGoodFiles = 65536;
// Processes and threads for each usable core: a worker that imports PyTorch has about one thread for each core.
constexpr std::uint64_t kEnoughTasks = 32, kGoodTasks = 32768;
// Workers for each GPU in PyTorch's ImageNet example.
constexpr std::size_t kWorkersPerGpu = 4;
// Less is left over from the start of the machine.
constexpr std::uint64_t kMuchSwap = kGigabyte;

void check_quota(const Topology& t, DoctorFindings& findings) {
  if (t.quota > 0 && t.quota < t.affinity) {
    findings.push_back({"cores",
                        fmt::format("the cgroup quota is {:.4g} cores, but {} CPUs are visible", t.quota, t.affinity),
                        fmt::format("unstarve starts {0} {2}; programs that count CPUs start {1} and are "
                                    "throttled: use num_workers={0} in PyTorch's DataLoader, and",
                                    t.usable(), t.affinity, t.usable() == 1 ? "thread" : "threads"),
                        fmt::format("export OMP_NUM_THREADS={}", t.usable())});
  }
  if (t.affinity < t.online) {
    findings.push_back({"cores", fmt::format("{} of {} CPUs are in the affinity mask", t.affinity, t.online),
                        "this process cannot use the others; extend the mask or the cpuset if they are free",
                        fmt::format("taskset -c 0-{} unstarve ...", t.online - 1)});
  }
}

void check_workers(const Topology& t, std::size_t gpus, DoctorFindings& findings) {
  const auto usable = static_cast<std::size_t>(t.usable());
  if (gpus == 0 || usable >= kWorkersPerGpu * gpus) return;
  findings.push_back(
      {"workers",
       fmt::format("{} usable {} for {} {}", usable, usable == 1 ? "core" : "cores", gpus, gpus == 1 ? "GPU" : "GPUs"),
       fmt::format("training scripts start {} or more workers for each GPU, which compete for the cores: use "
                   "num_workers={}, pack the data at the size of training, or use more cores",
                   kWorkersPerGpu, std::max<std::size_t>(1, usable / gpus)),
       "unstarve capacity DATA --accelerator h100 --workload resnet50"});
}

std::string binding(int node) { return fmt::format("numactl --cpunodebind={0} --membind={0} unstarve ...", node); }

void check_numa(const MachineFacts& machine, DoctorFindings& findings) {
  if (machine.topology.numa_nodes <= 1) return;
  std::vector<int> nodes;  // of the accelerators
  for (const PciAccelerator& accelerator : machine.accelerators)
    if (accelerator.numa_node >= 0) nodes.push_back(accelerator.numa_node);
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  const bool bound = machine.nodes.size() == 1;
  if (nodes.empty()) {
    if (bound) return;
    findings.push_back({"numa", fmt::format("memory is distributed over {} NUMA nodes", machine.topology.numa_nodes),
                        "keep loader and memory on the node of the accelerator; memory of other nodes is slower",
                        binding(0)});
    return;
  }
  if (bound && std::ranges::find(nodes, machine.nodes[0]) != nodes.end()) return;
  const std::string process = machine.nodes.empty()
                                  ? "an unknown node"
                                  : fmt::format("{} {}", bound ? "node" : "nodes", fmt::join(machine.nodes, ", "));
  findings.push_back(
      {"numa",
       fmt::format("accelerators are at NUMA {} {}, this process runs on {}", nodes.size() == 1 ? "node" : "nodes",
                   fmt::join(nodes, ", "), process),
       nodes.size() == 1
           ? "batches cross the link between the nodes: keep loader and memory on the node of the accelerator"
           : "batches cross the link between the nodes: start one process for each accelerator, on the "
             "node of that accelerator",
       binding(nodes[0])});
}

std::string shm_command(const std::string& container) {
  if (container == "docker" || container == "podman") return container + " run --shm-size=8g ...";
  if (container == "kubernetes")
    return "a volume \"emptyDir: {medium: Memory, sizeLimit: 8Gi}\" with mountPath: /dev/shm in the pod";
  return "sudo mount -o remount,size=8G /dev/shm";
}

void check_limit(const MachineFacts& machine, DoctorFindings& findings) {
  const std::string limit = machine.memory_limit_bytes > 0
                                ? fmt::format(" under a limit of {}", format_bytes(machine.memory_limit_bytes))
                                : "";
  if (machine.memory_available_bytes > 0 && machine.memory_available_bytes < kEnoughMemory) {
    findings.push_back({"memory", format_bytes(machine.memory_available_bytes) + " of memory available" + limit,
                        "training may run out of memory: use a smaller batch size, limit the loader, or raise "
                        "the limit",
                        "unstarve train DATA --batch 32 --memory-limit 1GiB"});
  }
  if (machine.memory_limit_bytes > 0 && machine.memory_limit_bytes < machine.memory_bytes / 2) {
    const bool engine = machine.container == "docker" || machine.container == "podman";
    findings.push_back(
        {"memory limit",
         fmt::format("the cgroup has {} of the {} of memory", format_bytes(machine.memory_limit_bytes),
                     format_bytes(machine.memory_bytes)),
         "cached files count too: a larger dataset is read again in every epoch, and programs that size their caches "
         "by the memory of the machine are killed",
         engine
             ? machine.container + " update --memory=SIZE --memory-swap=SIZE CONTAINER"
             : "sudo systemctl set-property UNIT MemoryMax=SIZE   (kubernetes: resources.limits.memory of the pod)"});
  }
  if (machine.killed_for_memory > 0) {
    findings.push_back(
        {"memory limit",
         fmt::format("the kernel killed {} {} of this cgroup for lack of memory", machine.killed_for_memory,
                     machine.killed_for_memory == 1 ? "process" : "processes"),
         "workers that disappear without a message were killed: use fewer workers, or limit the loader",
         "unstarve train DATA --memory-limit 4GiB"});
  }
}

}  // namespace

void find_core_problems(const MachineFacts& machine, std::size_t gpus, DoctorFindings& findings) {
  check_quota(machine.topology, findings);
  check_workers(machine.topology, gpus, findings);
  check_numa(machine, findings);
}

void find_memory_problems(const MachineFacts& machine, DoctorFindings& findings) {
  check_limit(machine, findings);
  if (machine.swap_used_bytes >= kMuchSwap) {
    findings.push_back({"swap", format_bytes(machine.swap_used_bytes) + " of memory are swapped out",
                        "a program that needs them waits for the disk: end programs that use much memory, then move "
                        "the pages back",
                        "sudo swapoff -a && sudo swapon -a"});
  }
  if (machine.shm_bytes < kEnoughShm) {
    const std::string size = machine.shm_bytes > 0 ? "has " + format_bytes(machine.shm_bytes) : "is not mounted";
    findings.push_back({"shm", "/dev/shm " + size,
                        "unstarve does not use it, but PyTorch's DataLoader fails with \"bus error\" when it is full",
                        shm_command(machine.container)});
  }
  if (machine.open_files > 0 && machine.open_files < kEnoughFiles) {
    const bool can_raise = machine.open_files_most >= kEnoughFiles;
    findings.push_back(
        {"open files", fmt::format("a process may open {} files", machine.open_files),
         "workers of PyTorch's DataLoader share tensors by descriptors and fail with \"too many open files\"",
         can_raise                    ? fmt::format("ulimit -n {}", std::min(machine.open_files_most, kGoodFiles))
         : !machine.container.empty() ? "docker run --ulimit nofile=65536 ..."
                                      : "echo \"$USER - nofile 65536\" | sudo tee -a /etc/security/limits.conf   "
                                        "(then log in again)"});
  }
  const std::uint64_t tasks_left = machine.tasks_most - std::min(machine.tasks, machine.tasks_most);
  if (machine.tasks_most > 0 && tasks_left < kEnoughTasks * static_cast<std::uint64_t>(machine.topology.usable())) {
    findings.push_back(
        {"tasks",
         fmt::format("the cgroup may have {} processes and threads, and has {}", machine.tasks_most, machine.tasks),
         "workers and threads of a loader cannot be started: \"resource temporarily unavailable\"",
         machine.container == "kubernetes"
             ? fmt::format("podPidsLimit: {} in the configuration of the kubelet", kGoodTasks)
         : !machine.container.empty() ? fmt::format("{} run --pids-limit {} ...", machine.container, kGoodTasks)
                                      : fmt::format("systemd-run --user --scope -p TasksMax={} ...", kGoodTasks)});
  }
  if (machine.transparent_huge_pages == "never") {
    findings.push_back({"huge pages", "transparent huge pages are off",
                        "address translation of large buffers is more expensive; allow programs to request huge pages",
                        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"});
  }
}

}  // namespace unstarve
