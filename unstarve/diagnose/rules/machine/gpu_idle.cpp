// The GPUs of the program work for less than half of the time, and other findings do not explain it. Kernels that were
// recorded show it more exactly than samples of the driver.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

constexpr std::int64_t kFewestSamplesOfGpu = 20;

// Whether recorded kernels keep a device busy for half of the analysed time.
bool is_busy(const TraceUse& trace) {
  return std::ranges::any_of(trace.devices, [&](const DeviceUse& device) {
    return device.busy_s > 0 && device.busy_s >= 0.5 * trace.analysed_s;
  });
}

std::optional<RunFinding> find_gpu_idle(const RunProfile& profile) {
  if (profile.trace && is_busy(*profile.trace)) return std::nullopt;
  double median = 0, mean = 0;
  std::string evidence;
  int gpus = 0;
  for (const GpuUse& gpu : gpus_of_program(profile.gpus)) {
    if (gpu.samples < kFewestSamplesOfGpu) continue;
    ++gpus;
    median += gpu.utilisation_p50;
    mean += gpu.utilisation_mean;
    evidence += fmt::format(
        "{}GPU {}: median utilisation {:.0f} % (10th percentile {:.0f} %, 90th {:.0f} %), without any kernel in "
        "{:.0f} % of the samples",
        evidence.empty() ? "" : "; ", gpu.index, 100 * gpu.utilisation_p50, 100 * gpu.utilisation_p10,
        100 * gpu.utilisation_p90, 100 * gpu.idle_share);
  }
  if (gpus == 0 || median / gpus >= 0.5) return std::nullopt;
  RunFinding finding;
  finding.lost = std::clamp(1 - mean / gpus, 0.0, 1.0);
  finding.gain = gain_without(finding.lost);  // an upper bound
  finding.title =
      fmt::format("the GPU is idle for {:.0f} % of the time, and no cause outside of it was found", 100 * finding.lost);
  finding.evidence = std::move(evidence);
  const char* const kShows =
      " and run unstarve diagnose on it: it shows whether the GPU waits for launches, copies or synchronisation";
  finding.changes = {std::string("record a trace of 10 steps with Nsight Systems") + kShows,
                     std::string("record a trace of 10 steps with torch.profiler") + kShows,
                     std::string("record a trace of 10 steps with tf.profiler.experimental.start(FOLDER)") + kShows,
                     std::string("record a trace of 10 steps with jax.profiler.trace(FOLDER)") + kShows,
                     "unstarve bench DATA --model NAME --device cuda shows which stage limits the training"};
  return finding;
}

}  // namespace

const Rule kGpuIdle{"gpu-idle",
                    "the median utilisation of the program's GPUs is below 50 %, recorded kernels keep no device busy "
                    "for half of the time, and no other finding explains half of the idle time of the GPUs",
                    find_gpu_idle, true};

}  // namespace unstarve
