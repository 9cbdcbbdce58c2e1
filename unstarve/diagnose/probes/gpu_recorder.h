#pragma once
// Reduces samples of GPUs (device/nvml_sampler.h) to what they did during a run.
//
// Source:  also /proc and /sys below `root`: names of processes, NUMA nodes (tests pass recorded trees).
// Memory:  limited: of each GPU 8192 samples, of which every second one is left out when they are full, and the first
//          64 processes.
// Threads: one at a time. Failure: only std::bad_alloc.

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "unstarve/device/nvml_sampler.h"
#include "unstarve/diagnose/profile/gpu_use.h"

namespace unstarve {

class GpuRecorder {
 public:
  explicit GpuRecorder(const GpuStates& states, std::filesystem::path root = "/");

  // In the order of the states. `seconds`: of CLOCK_MONOTONIC, ascending.
  void add(double seconds, std::span<const GpuLook> looks);
  // The processes of the program at present. Those that were its processes once remain.
  void set_program(const std::set<int>& processes);
  // What GpuUse counts in samples begins at `from_s`, of CLOCK_MONOTONIC, or with the first kernel if that is later.
  [[nodiscard]] std::vector<GpuUse> use(double from_s = 0) const;
  // Mean utilisation of the program's GPUs since the latest call; of all that worked if they are unknown; -1: unknown.
  [[nodiscard]] double take_utilisation();

 private:
  // A sample of one GPU since its first kernel.
  struct Sample {
    double seconds = 0, utilisation = 0, power_w = 0;  // power, clock: 0: unknown
    int clock_mhz = 0;
    std::uint32_t slowdowns = 0;  // bit i: the GpuSlowdown with the number i
  };
  struct Process {
    bool of_program = false;
    std::string name;
    std::int64_t memory_bytes = 0, looks = 0, samples = 0;
    double utilisation = 0;  // sum of samples
  };
  struct Gpu {
    GpuUse use;                        // what does not change, and maxima
    std::vector<Sample> samples;       // in the order of time
    std::int64_t every = 1, next = 0;  // every sample of this number is kept; `next` of them came since the latest one
    std::int64_t all_looks = 0;
    std::map<int, Process> processes;
    std::set<int> nodes;
    double recent = 0;  // sum of utilisation since the latest call of take_utilisation()
    std::int64_t recent_looks = 0;
  };
  static void add_sample(Gpu& gpu, double seconds, const GpuLook& look);
  static void set_samples(GpuUse& use, const Gpu& gpu, double from_s);
  void add_processes(Gpu& gpu, const GpuLook& look);

  std::filesystem::path root_;
  std::vector<Gpu> gpus_;
};

}  // namespace unstarve
