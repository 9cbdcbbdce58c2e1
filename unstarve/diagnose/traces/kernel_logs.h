#pragma once
// The kernels and NVTX ranges that the processes of a watched command have recorded (cupti/kernel_log.h), reduced to a
// TraceUse and to steps.
//
// Each process that has recorded kernels, or why it could not, is in `processes` of the trace; all other figures are of
// the one with the most kernels (of several, the smallest process id). Without kernels, the steps are those of the
// process with the most ranges that may be steps. Steps of a trace are those of un.step(), those of ranges, or are
// found by the sequence of kernels. One log at a time is in memory.
//
// Threads: any. Failure: only std::bad_alloc; what cannot be read is explained in `missing`.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unstarve/diagnose/profile/device_use.h"
#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/diagnose/traces/intervals.h"

namespace unstarve {

struct RecordedKernels {
  std::optional<TraceUse> trace;             // nothing: no process has recorded kernels
  std::map<int, std::string> pci_addresses;  // of the devices of the trace, by their index
  double first_step_s = 0;                   // of the trace, its begin; CLOCK_MONOTONIC; 0: it has no steps
  StepUse steps;  // that ranges mark; `source` is empty if there are none, or recording disturbs them
  std::map<int, double> step_rates;  // steps per second of each process that ranges or kernels show, by its id
  // Those steps, by the process that marks them; nanoseconds of CLOCK_MONOTONIC, in order, disjoint.
  std::pair<int, std::vector<Interval>> ranges;
  std::string missing;  // why kernels are missing although a process used CUDA; empty: no reason
};

// The ends of the latest steps that a process has marked, as read_step_times() (probes/step_log.h).
using StepTimes = std::function<std::vector<double>(std::uint32_t process)>;

[[nodiscard]] RecordedKernels read_kernel_logs(const std::filesystem::path& folder, const StepTimes& step_times);

}  // namespace unstarve
