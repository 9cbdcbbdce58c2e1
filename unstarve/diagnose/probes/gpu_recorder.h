#pragma once
// Reduces looks at GPUs (device/nvml_sampler.h) to what they did during a run.
//
// Source:  also /proc and /sys below `root`: names of processes, NUMA nodes (tests pass recorded trees).
// Memory:  limited: histograms instead of lists; the first 64 processes of each GPU.
// Threads: one at a time. Failure: only std::bad_alloc.

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

  void add(std::span<const GpuLook> looks);  // in the order of the states
  // The processes of the program at present. Those that were its processes once remain.
  void set_program(const std::set<int>& processes);
  [[nodiscard]] std::vector<GpuUse> use() const;
  // Mean utilisation of the program's GPUs since the latest call; of all that worked if they are unknown; -1: unknown.
  [[nodiscard]] double take_utilisation();

 private:
  // Values from 0 in steps of `step`; larger ones are in the last bin.
  class Counts {
   public:
    Counts(double step, std::size_t bins) : step_(step), counts_(bins) {}
    void add(double value);
    [[nodiscard]] double quantile(double q) const;  // 0 without values
    [[nodiscard]] std::int64_t in(std::size_t first, std::size_t end) const;

   private:
    double step_;
    std::vector<std::int64_t> counts_;
  };
  struct Process {
    bool of_program = false;
    std::string name;
    std::int64_t memory_bytes = 0, looks = 0, samples = 0;
    double utilisation = 0;  // sum of samples
  };
  struct Gpu {
    GpuUse use;  // what does not change, and maxima
    Counts utilisation{0.01, 101}, clock{15, 300}, power{2, 1000};
    double utilisation_sum = 0;
    std::int64_t all_looks = 0;
    std::map<GpuSlowdown, std::int64_t> slowdowns;
    std::map<int, Process> processes;
    std::set<int> nodes;
    double recent = 0;  // sum of utilisation since the latest call of take_utilisation()
    std::int64_t recent_looks = 0;
  };
  void add_processes(Gpu& gpu, const GpuLook& look);

  std::filesystem::path root_;
  std::vector<Gpu> gpus_;
};

}  // namespace unstarve
