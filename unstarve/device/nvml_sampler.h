#pragma once
// What NVIDIA GPUs do, read repeatedly through NVML (nvml_library.h), which remains open.
//
// The throughput of PCIe is not read: each call of NVML for it takes 20 ms, in which it measures.
//
// Ownership: values. Threads: one at a time.
// Failure:   never throws except std::bad_alloc. states() says why GPUs cannot be read; what a look cannot read is
//            unknown. A driver that hangs blocks the caller.
// Cost:      about ten calls of the driver for each GPU and look; the first use initialises the driver, which takes up
//            to seconds without persistence mode.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/device/nvml.h"
#include "unstarve/device/nvml_library.h"

namespace unstarve {

struct GpuProcessLook {
  std::uint32_t process = 0;       // number, of the namespace that the driver sees
  std::uint64_t memory_bytes = 0;  // 0: unknown
  double utilisation = -1;         // of the multiprocessors, mean since the latest samples; -1: unknown, or none yet
};

struct GpuLook {
  double utilisation = -1;  // share of the driver's latest period (up to 1 s) with a kernel; -1: unknown
  std::uint64_t memory_used_bytes = 0;
  int clock_mhz = 0;  // 0: unknown
  double power_w = 0;
  int temperature_c = 0;
  int link_generation = 0, link_lanes = 0;
  std::vector<GpuSlowdown> slowdowns;
  std::vector<GpuProcessLook> processes;  // that compute, without this one
  std::string failure;                    // why the utilisation is unknown
};

class NvmlSampler {
 public:
  // `library` as of read_gpu_states().
  explicit NvmlSampler(const std::string& library = "");

  // When this object was made. Slowdowns include kPowerLimit.
  [[nodiscard]] const GpuStates& states() const { return states_; }

  // In the order of states().gpus.
  [[nodiscard]] std::vector<GpuLook> look();

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  struct Gpu {
    NvmlDevice handle = nullptr;               // null: it is lost, or of another user
    unsigned long long latest_sample_us = 0;   // of processes
    std::optional<SteadyTime> latest_samples;  // when the processes were known to be busy or idle
  };
  [[nodiscard]] GpuLook look_at(Gpu& gpu) const;
  void add_utilisation(Gpu& gpu, std::vector<GpuProcessLook>& processes) const;

  NvmlLibrary nvml_;
  GpuStates states_;
  std::vector<Gpu> gpus_;
};

}  // namespace unstarve
