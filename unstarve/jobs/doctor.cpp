#include "unstarve/jobs/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "unstarve/observe/facts.h"
#include "unstarve/observe/format.h"
#include "unstarve/storage/io/batch_reader.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kGigabyte = std::uint64_t{1} << 30;
// Eight DataLoader workers with two batches of 256 float images of 224 px each use about 2.5 GB of /dev/shm.
constexpr std::uint64_t kEnoughShm = 5 * kGigabyte / 2;
// libtorch with a ResNet, activations of a small batch, and the batch slots of the loader.
constexpr std::uint64_t kEnoughMemory = 2 * kGigabyte;

using Findings = std::vector<DoctorFinding>;

void check_cores(const Topology& t, Findings& findings) {
  if (t.quota > 0 && t.quota < t.affinity) {
    findings.push_back({"cores",
                        fmt::format("the cgroup quota is {:.4g} cores, but {} CPUs are visible", t.quota, t.affinity),
                        fmt::format("unstarve starts {} threads; programs that count CPUs start {} and are throttled",
                                    t.usable(), t.affinity),
                        fmt::format("export OMP_NUM_THREADS={}", t.usable())});
  }
  if (t.affinity < t.online) {
    findings.push_back({"cores", fmt::format("{} of {} CPUs are in the affinity mask", t.affinity, t.online),
                        "this process cannot use the others; extend the mask or the cpuset if they are free",
                        fmt::format("taskset -c 0-{} unstarve ...", t.online - 1)});
  }
  if (t.numa_nodes > 1) {
    findings.push_back({"numa", fmt::format("memory is distributed over {} NUMA nodes", t.numa_nodes),
                        "keep loader and memory on the node of the accelerator; memory of other nodes is slower",
                        "numactl --cpunodebind=0 --membind=0 unstarve ..."});
  }
}

void check_instructions(const MachineFacts& machine, Findings& findings) {
  if (machine.instruction_sets.empty()) return;  // unknown
  if (!machine.has("avx2") && !machine.has("neon")) {
    findings.push_back({"instructions", "the CPU has neither AVX2 nor NEON",
                        "image operations are several times slower than on a CPU with AVX2 or NEON", ""});
  }
  if (!machine.has("avx512_bf16") && !machine.has("amx_bf16") && !machine.has("neon_bf16")) {
    findings.push_back({"bfloat16", "the CPU has no bfloat16 instructions",
                        "mixed precision on the CPU is emulated and slower: train in float32", ""});
  }
}

void check_memory(const MachineFacts& machine, Findings& findings) {
  if (machine.memory_available_bytes > 0 && machine.memory_available_bytes < kEnoughMemory) {
    const std::string limit = machine.memory_limit_bytes > 0
                                  ? fmt::format(" under a limit of {}", format_bytes(machine.memory_limit_bytes))
                                  : "";
    findings.push_back({"memory", format_bytes(machine.memory_available_bytes) + " of memory available" + limit,
                        "training may run out of memory: use a smaller batch size, or raise the limit", ""});
  }
  if (machine.shm_bytes < kEnoughShm) {
    const std::string size = machine.shm_bytes > 0 ? "has " + format_bytes(machine.shm_bytes) : "is not mounted";
    findings.push_back({"shm", "/dev/shm " + size,
                        "unstarve does not use it, but PyTorch's DataLoader fails with \"bus error\" when it is full",
                        "sudo mount -o remount,size=8G /dev/shm   (docker run --shm-size=8g)"});
  }
  if (machine.transparent_huge_pages == "never") {
    findings.push_back({"huge pages", "transparent huge pages are off",
                        "address translation of large buffers is more expensive; allow programs to request huge pages",
                        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"});
  }
}

void check_frequency(const MachineFacts& machine, Findings& findings) {
  if (machine.governor != "powersave" && machine.governor != "conservative") return;
  findings.push_back({"governor", "the frequency governor is " + machine.governor,
                      "cores may run below their full frequency, and measurements vary",
                      "sudo cpupower frequency-set -g performance"});
}

// The fix for an error of io_uring_setup(2).
std::string uring_remedy(int error) {
  switch (error) {
    case EPERM:
      return "sudo sysctl kernel.io_uring_disabled=0   (docker: a seccomp profile that allows io_uring_setup)";
    case ENOSYS:
      return "a kernel with io_uring, Linux 5.6 or newer   (not available in gVisor or with seccomp profiles "
             "that return ENOSYS)";
    case ENOMEM: return "ulimit -l unlimited   (docker run --ulimit memlock=-1)";
    case EMFILE: return "ulimit -n 65536   (docker run --ulimit nofile=65536)";
    default: return "";
  }
}

void check_reading(int uring_error, Findings& findings) {
  if (uring_error == 0) return;
  findings.push_back(
      {"io_uring", std::string("the kernel or the container does not allow io_uring: ") + std::strerror(uring_error),
       "uncached files are read by a thread pool instead, which uses more CPU time", uring_remedy(uring_error)});
}

void check_devices(const BuildFacts& build, const DeviceReport& devices, Findings& findings) {
  if (!devices.reason.empty()) {
    findings.push_back({"gpu", devices.reason, "an emulated accelerator shows how well this machine would feed a GPU",
                        "unstarve bench DATA --device emulated:h100-resnet50"});
  } else if (!build.libtorch.empty() && !build.libtorch_cuda) {
    findings.push_back({"gpu", "the machine has a GPU, but libtorch " + build.libtorch + " of this build has no CUDA",
                        "networks train on the CPU only: build with a CUDA variant of torch", ""});
  }
  if (!build.libtorch_problem.empty()) {
    findings.push_back({"libtorch", "libtorch cannot be loaded: training is unavailable", build.libtorch_problem, ""});
  } else if (build.libtorch.empty()) {
    findings.push_back({"libtorch", "this build has no libtorch",
                        "networks cannot be trained or measured; data, loading and emulated accelerators work",
                        "make setup build"});
  }
  if (!build.arrow_problem.empty())
    findings.push_back({"parquet", "Arrow cannot be loaded: Parquet is unavailable", build.arrow_problem, ""});
}

using nlohmann::json;

json text_or_null(const std::string& text) { return text.empty() ? json() : json(text); }

std::vector<Fact> describe(const BuildFacts& build, const DeviceReport& devices) {
  std::string libtorch = build.libtorch.empty() ? "none" : build.libtorch;
  if (!build.libtorch.empty()) libtorch += build.libtorch_cuda ? ", with CUDA" : ", without CUDA";
  return {{"unstarve", build.version},
          {"compiler", build.compiler},
          {"libtorch", libtorch},
          {"Arrow, for Parquet", build.arrow.empty() ? "none" : build.arrow},
          {"CUDA", devices.cuda_in_build ? devices.cuda_runtime : "none"},
          {"driver for CUDA", devices.driver}};
}

std::size_t name_width(const std::vector<Fact>& facts) {
  std::size_t width = 0;
  for (const Fact& fact : facts) width = std::max(width, text_width(fact.name));
  return width;
}

void append_facts(const std::vector<Fact>& facts, std::size_t width, std::string& text) {
  for (const Fact& fact : facts) {
    if (!fact.value.empty()) text += fmt::format("  {}  {}\n", pad_right(fact.name, width), printable(fact.value));
  }
}

}  // namespace

std::string compiler_name() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

std::vector<DoctorFinding> find_problems(const BuildFacts& build, const MachineFacts& machine,
                                         const DeviceReport& devices, int uring_error) {
  Findings findings;
  check_devices(build, devices, findings);
  check_cores(machine.topology, findings);
  check_instructions(machine, findings);
  check_memory(machine, findings);
  check_frequency(machine, findings);
  check_reading(uring_error, findings);
  return findings;
}

DoctorResult run_doctor(const BuildFacts& build) {
  DoctorResult result;
  result.build = build;
  if (result.build.compiler.empty()) result.build.compiler = compiler_name();
  result.machine = read_machine_facts();
  result.devices = report_devices();
  result.findings = find_problems(result.build, result.machine, result.devices, uring_error());
  return result;
}

std::string to_json(const DoctorResult& result) {
  json gpus = json::array();
  for (const DeviceReport::Gpu& gpu : result.devices.gpus) {
    gpus.push_back({{"name", gpu.name},
                    {"memory_bytes", gpu.memory_bytes},
                    {"capability", fmt::format("{}.{}", gpu.capability_major, gpu.capability_minor)}});
  }
  json findings = json::array();
  for (const DoctorFinding& finding : result.findings) {
    findings.push_back({{"topic", finding.topic},
                        {"found", finding.found},
                        {"advice", finding.advice},
                        {"command", text_or_null(finding.command)}});
  }
  const json all = {{"build",
                     {{"version", result.build.version},
                      {"compiler", result.build.compiler},
                      {"libtorch", text_or_null(result.build.libtorch)},
                      {"libtorch_cuda", result.build.libtorch_cuda},
                      {"arrow", text_or_null(result.build.arrow)},
                      {"cuda_runtime", text_or_null(result.devices.cuda_runtime)}}},
                    {"machine", json::parse(to_json(result.machine))},
                    {"devices",
                     {{"driver", text_or_null(result.devices.driver)},
                      {"reason", text_or_null(result.devices.reason)},
                      {"gpus", std::move(gpus)}}},
                    {"findings", std::move(findings)}};
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string to_text(const DoctorResult& result) {
  const std::vector<Fact> build = describe(result.build, result.devices);
  std::vector<Fact> machine = describe(result.machine);
  for (const DeviceReport::Gpu& gpu : result.devices.gpus) {
    machine.push_back({"GPU", fmt::format("{}, {}, compute capability {}.{}", gpu.name, format_bytes(gpu.memory_bytes),
                                          gpu.capability_major, gpu.capability_minor)});
  }
  const std::size_t width = std::max(name_width(build), name_width(machine));
  std::string text = "build\n";
  append_facts(build, width, text);
  text += "machine\n";
  append_facts(machine, width, text);
  text += result.findings.empty() ? "no problems found\n" : "problems\n";
  for (const DoctorFinding& finding : result.findings) {
    text += fmt::format("  {}: {}\n", finding.topic, printable(finding.found));
    text += fmt::format("    {}\n", printable(finding.advice));
    if (!finding.command.empty()) text += fmt::format("    $ {}\n", printable(finding.command));
  }
  return text;
}

}  // namespace unstarve
