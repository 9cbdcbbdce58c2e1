#pragma once
// What the GPUs of the machine did while a program was watched, as the driver reports it, as plain data. A part of
// RunProfile, with its version.
//
// "Utilisation" is the driver's: the share of its latest period, of up to a second, in which at least one kernel ran.
// It says nothing about how much of the GPU a kernel used.
//
// Threads: plain data; the functions are pure. Failure: none.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace unstarve {

inline constexpr double kGpuBusy = 0.5;  // a sample with at least this utilisation counts as busy
inline constexpr std::size_t kUtilisationBins = 10;
inline constexpr std::size_t kMostOthers = 16;

// Share of the busy samples in which the GPU was slowed down for this reason.
struct GpuSlowdownUse {
  std::string reason;  // to_string(GpuSlowdown)
  double share = 0;
};

// A process outside of the watched program that computes on the GPU, or has memory there.
struct GpuOther {
  int pid = 0;
  std::string name;
  std::int64_t memory_bytes = 0;  // at most; 0: unknown
  double present = 0;             // share of all samples
  double utilisation = -1;        // of the multiprocessors, mean while present; -1: unknown
};

struct GpuUse {
  int index = 0;  // of nvidia-smi
  std::string name;
  std::string pci_address;  // "0000:41:00.0"
  std::string missing;      // why the utilisation is unknown; empty: it is known
  bool used = false;        // a process of the program computes on it; unknown in containers with their own numbers

  // Samples from the first step, or without known steps those of the steady part (steady_part.h); none is before the
  // first one at which a kernel had run. 0: there are none.
  std::int64_t samples = 0;
  double utilisation_p10 = 0, utilisation_p50 = 0, utilisation_p90 = 0, utilisation_mean = 0;
  double idle_share = 0;                                      // of these samples, without any kernel
  std::array<double, kUtilisationBins> utilisation_shares{};  // of these samples, with 0 to 10 %, ..., 90 to 100 %

  std::int64_t memory_bytes = 0, peak_memory_bytes = 0;
  int temperature_c = 0;  // at most; 0: unknown
  double power_w = 0;     // median of these samples; 0: unknown
  double power_limit_w = 0, power_limit_default_w = 0;
  std::int64_t busy_samples = 0;
  int clock_mhz = 0;  // of the multiprocessors, median of the busy samples; 0: unknown
  int clock_most_mhz = 0;
  std::vector<GpuSlowdownUse> slowdowns;
  int link_generation = 0, link_generation_most = 0;  // of PCIe, the most seen and the most possible; 0: unknown
  int link_lanes = 0, link_lanes_most = 0;
  int numa_node = -1;              // of the GPU; -1: unknown, or the machine has one
  std::vector<int> process_nodes;  // of the CPUs to which the program's processes on it are bound; empty: unknown
  std::vector<GpuOther> others;    // most memory first, kMostOthers at most
};

// The GPUs on which the program computes. If the driver's numbers of processes are unknown here, those that worked.
[[nodiscard]] std::vector<GpuUse> gpus_of_program(const std::vector<GpuUse>& gpus);

}  // namespace unstarve
