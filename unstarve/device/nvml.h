#pragma once
// The state of NVIDIA GPUs, from the library of the driver that nvidia-smi uses too (NVML).
//
// The build does not need NVML: the library is loaded at run time (nvml_library.h). It reads only; no setting of a GPU
// is changed. nvml_sampler.h reads what changes while a program runs.
//
// Ownership: values; the library is unloaded at the end of the call. Threads: any.
// Failure:   never throws except std::bad_alloc; GpuStates::problem and `message` say why there are no states. A value
//            that a GPU or a driver does not have is unknown.
// Tests replace NVML by another library (tests/tools/nvml_stand_in.cpp).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace unstarve {

// Why a GPU does not run at its full frequency: bits of nvmlDeviceGetCurrentClocksThrottleReasons(), without idleness.
enum class GpuSlowdown { kClockSetting, kPowerLimit, kHardware, kTooHot, kHardwareTooHot, kPowerBrake };
[[nodiscard]] const char* to_string(GpuSlowdown slowdown) noexcept;  // "too hot"

struct GpuProcess {
  std::uint32_t process = 0;       // number, of the namespace that the driver sees
  std::uint64_t memory_bytes = 0;  // 0: unknown
};

struct GpuState {
  std::string name;
  std::string pci_address;  // "0000:41:00.0", as in /sys
  std::optional<bool> persistence;
  int link_generation = 0, link_generation_most = 0;    // of PCIe; the latter of card and slot together; 0: unknown
  int link_lanes = 0, link_lanes_most = 0;              // 0: unknown
  int performance_state = -1;                           // 0: fastest, 15: idle; -1: unknown
  double power_limit_w = 0, power_limit_default_w = 0;  // 0: unknown
  int clock_mhz = 0, clock_most_mhz = 0;                // of the multiprocessors; 0: unknown
  std::vector<GpuSlowdown> slowdowns;                   // at present, without kPowerLimit
  std::optional<bool> ecc;
  std::uint64_t memory_errors = 0;  // that could not be corrected, since the driver was loaded
  std::uint64_t memory_bytes = 0, memory_used_bytes = 0;
  std::vector<GpuProcess> processes;  // that compute, without this one
};

enum class NvmlProblem {
  kNone,
  kNoLibrary,  // the library cannot be loaded
  kNoDriver,   // the kernel module is not loaded
  kMismatch,   // library and kernel module are of different versions
  kOther,
};

struct GpuStates {
  NvmlProblem problem = NvmlProblem::kNone;
  std::string message;  // of the loader or of NVML; empty without a problem
  std::string driver;   // "580.65.06"
  std::vector<GpuState> gpus;
};

// `library`: its path; empty: $UNSTARVE_NVML, or libnvidia-ml.so.1 if that is not set.
[[nodiscard]] GpuStates read_gpu_states(const std::string& library = "");

}  // namespace unstarve
