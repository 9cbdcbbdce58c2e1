// Problems of GPUs, their driver and their settings. GPUs with the same problem share a finding.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>

#include "unstarve/jobs/doctor/findings.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

// In slower states an idle GPU lowers the generation of its link.
constexpr int kBusyState = 2;
// A driver reserves less of the memory of an idle GPU.
constexpr double kReservedShare = 0.05;

// The GPUs with the same text of `describe`, by this text; empty texts are no problem.
using ByText = std::map<std::string, std::vector<std::size_t>>;
ByText group(const GpuStates& states, const std::function<std::string(const GpuState&)>& describe) {
  ByText groups;
  for (std::size_t index = 0; index < states.gpus.size(); ++index)
    if (const std::string text = describe(states.gpus[index]); !text.empty()) groups[text].push_back(index);
  return groups;
}

struct GpuProblem {
  const char* topic;
  std::string (*describe)(const GpuState&);  // empty: no problem
  const char* advice;
  const char* command;  // {}: the numbers of the GPUs
};

std::string describe_persistence(const GpuState& gpu) {
  return gpu.persistence.value_or(true) ? "" : "persistence mode is off";
}

std::string describe_link(const GpuState& gpu) {
  std::vector<std::string> parts;
  const bool judged = gpu.performance_state <= kBusyState;
  if (judged && gpu.link_generation > 0 && gpu.link_generation < gpu.link_generation_most)
    parts.push_back(fmt::format("generation {} of {}", gpu.link_generation, gpu.link_generation_most));
  if (gpu.link_lanes > 0 && gpu.link_lanes < gpu.link_lanes_most)
    parts.push_back(fmt::format("{} of {} lanes", gpu.link_lanes, gpu.link_lanes_most));
  return parts.empty() ? "" : fmt::format("the PCIe link uses {}", fmt::join(parts, " and "));
}

std::string describe_power(const GpuState& gpu) {
  if (gpu.power_limit_w <= 0 || gpu.power_limit_w >= gpu.power_limit_default_w) return "";
  return fmt::format("the power limit is {:.0f} W of {:.0f} W", gpu.power_limit_w, gpu.power_limit_default_w);
}

std::string describe_slowdown(const GpuState& gpu, bool setting) {
  std::vector<std::string> reasons;
  for (const GpuSlowdown reason : gpu.slowdowns) {
    const char* const word = to_string(reason);  // several reasons have the same one
    if ((reason == GpuSlowdown::kClockSetting) == setting && std::ranges::find(reasons, word) == reasons.end())
      reasons.emplace_back(word);
  }
  if (reasons.empty()) return "";
  std::string text = "the clock is below its maximum";
  if (gpu.clock_mhz > 0 && gpu.clock_mhz < gpu.clock_most_mhz)
    text = fmt::format("the clock is {} of {} MHz", gpu.clock_mhz, gpu.clock_most_mhz);
  return text + fmt::format(": {}", fmt::join(reasons, ", "));
}
std::string describe_clock_setting(const GpuState& gpu) { return describe_slowdown(gpu, true); }
std::string describe_throttling(const GpuState& gpu) { return describe_slowdown(gpu, false); }

std::string describe_memory_errors(const GpuState& gpu) {
  if (gpu.memory_errors == 0) return "";
  return fmt::format("{} memory errors could not be corrected", gpu.memory_errors);
}

std::string describe_processes(const GpuState& gpu) {
  if (!gpu.processes.empty()) {
    std::vector<std::uint32_t> numbers;
    for (const GpuProcess& process : gpu.processes) numbers.push_back(process.process);
    return fmt::format("{} other {} it: {} ({} of memory in use)", numbers.size(),
                       numbers.size() == 1 ? "process uses" : "processes use", fmt::join(numbers, ", "),
                       format_bytes(gpu.memory_used_bytes));
  }
  if (static_cast<double>(gpu.memory_used_bytes) <= kReservedShare * static_cast<double>(gpu.memory_bytes)) return "";
  return fmt::format("{} of memory are in use by processes that are not visible here",
                     format_bytes(gpu.memory_used_bytes));
}

constexpr GpuProblem kGpuProblems[] = {
    {"gpu errors", describe_memory_errors, "results may be wrong: move the job to another GPU, then reset this one",
     "nvidia-smi -i {} -q -d ECC,ROW_REMAPPER"},
    {"gpu clock", describe_throttling, "the GPU computes more slowly: check cooling and power supply",
     "nvidia-smi -i {} -q -d PERFORMANCE,TEMPERATURE,POWER"},
    {"gpu clock", describe_clock_setting, "the GPU computes more slowly: remove the setting",
     "sudo nvidia-smi -i {0} -rgc && sudo nvidia-smi -i {0} -rac"},
    {"power limit", describe_power, "the GPU computes more slowly under full load: restore the default",
     "sudo nvidia-smi -i {} -pl {:.0f}"},
    {"pcie link", describe_link,
     "batches are copied to the GPU more slowly: use a slot with all lanes, reseat the card, and check the firmware "
     "settings. The link under load is shown by",
     "nvidia-smi -i {} --query-gpu=pcie.link.gen.current,pcie.link.width.current --format=csv -l 1"},
    {"gpu processes", describe_processes, "they share its time and memory, and measurements vary",
     "nvidia-smi -i {} --query-compute-apps=pid,process_name,used_memory --format=csv"},
    {"persistence mode", describe_persistence,
     "while no program uses the GPU, the driver releases it: every start then takes seconds, and settings are lost",
     "sudo nvidia-smi -i {} -pm 1"},
};

void check_gpu_states(const GpuStates& states, DoctorFindings& findings) {
  for (const GpuProblem& problem : kGpuProblems) {
    for (const auto& [text, gpus] : group(states, problem.describe)) {
      const std::string numbers = fmt::format("{}", fmt::join(gpus, ","));
      const double power_w = states.gpus[gpus[0]].power_limit_default_w;
      std::string command = fmt::format(fmt::runtime(problem.command), numbers, power_w);
      findings.push_back({problem.topic,
                          fmt::format("{} {}: {}", gpus.size() == 1 ? "GPU" : "GPUs", fmt::join(gpus, ", "), text),
                          problem.advice, std::move(command)});
    }
  }
}

// Each message of NVML, and of a device without a driver, with its fix.
void check_driver(const DoctorFacts& facts, DoctorFindings& findings) {
  std::vector<std::string> without, with;  // addresses of NVIDIA's devices by driver
  for (const PciAccelerator& accelerator : facts.machine.accelerators) {
    if (accelerator.vendor != "NVIDIA") continue;
    if (accelerator.driver.empty()) without.push_back(accelerator.address);
    if (accelerator.driver == "nvidia") with.push_back(accelerator.address);
  }
  if (!without.empty()) {
    findings.push_back({"gpu driver", fmt::format("no driver is loaded for {}", fmt::join(without, ", ")),
                        "these NVIDIA devices cannot be used: load the driver, or install it",
                        "sudo modprobe nvidia   (not installed: sudo apt install nvidia-driver)"});
  }
  const GpuStates& gpus = facts.gpus;
  const bool present = !with.empty() || !facts.devices.driver.empty();
  switch (gpus.problem) {
    case NvmlProblem::kNone: break;
    case NvmlProblem::kMismatch:
      findings.push_back({"gpu driver", gpus.message,
                          "the driver was updated while its old kernel module is loaded: restart the machine",
                          "sudo reboot"});
      break;
    case NvmlProblem::kNoLibrary:
      if (!present) break;
      findings.push_back({"gpu driver", "the library of the driver cannot be loaded: " + gpus.message,
                          "GPUs cannot be used or examined here",
                          facts.machine.container.empty()
                              ? "sudo apt install libnvidia-ml1"
                              : "docker run --gpus all ...   (with nvidia-container-toolkit)"});
      break;
    case NvmlProblem::kNoDriver:
      if (!without.empty()) break;  // reported above
      findings.push_back(
          {"gpu driver", gpus.message, "the kernel module of the driver is not loaded", "sudo modprobe nvidia"});
      break;
    case NvmlProblem::kOther:
      findings.push_back({"gpu driver", gpus.message, "GPUs cannot be examined", "nvidia-smi"});
      break;
  }
}

void check_devices(const DoctorFacts& facts, DoctorFindings& findings) {
  const BuildFacts& build = facts.build;
  const DeviceReport& devices = facts.devices;
  if (!devices.reason.empty() && !facts.gpus.gpus.empty()) {
    findings.push_back({"gpu",
                        fmt::format("{}; the machine has {} {}", devices.reason, facts.gpus.gpus.size(),
                                    facts.gpus.gpus.size() == 1 ? "GPU" : "GPUs"),
                        "networks train on the CPU only", devices.cuda_in_build ? "nvidia-smi" : "make setup build"});
  } else if (!devices.reason.empty()) {
    findings.push_back({"gpu", devices.reason, "an emulated accelerator shows how well this machine would feed a GPU",
                        "unstarve bench DATA --device emulated:h100-resnet50"});
  } else if (!build.libtorch.empty() && !build.libtorch_cuda) {
    findings.push_back({"gpu", "the machine has a GPU, but libtorch " + build.libtorch + " of this build has no CUDA",
                        "networks train on the CPU only: build with a CUDA variant of torch, as PyPI has it for x86",
                        "pip install --force-reinstall torch && make build"});
  }
}

}  // namespace

void find_gpu_problems(const DoctorFacts& facts, DoctorFindings& findings) {
  check_devices(facts, findings);
  check_driver(facts, findings);
  check_gpu_states(facts.gpus, findings);
}

}  // namespace unstarve
