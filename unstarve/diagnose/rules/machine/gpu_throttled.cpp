// A GPU of the program computes at a lower frequency than it could.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "unstarve/device/nvml.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

constexpr double kOften = 0.1;  // of the busy samples

double share_of(const GpuUse& gpu, GpuSlowdown slowdown) {
  for (const GpuSlowdownUse& use : gpu.slowdowns)
    if (use.reason == to_string(slowdown)) return use.share;
  return 0;
}

struct ThrottleCause {
  std::vector<std::string> reasons;  // empty: no problem
  std::string change;
};

void add(ThrottleCause& cause, const std::string& reason, const std::string& change) {
  cause.reasons.push_back(reason);
  if (cause.change.find(change) == std::string::npos) cause.change += (cause.change.empty() ? "" : "; ") + change;
}

ThrottleCause cause_of(const GpuUse& gpu) {
  ThrottleCause cause;
  for (const GpuSlowdown slowdown :
       {GpuSlowdown::kTooHot, GpuSlowdown::kHardwareTooHot, GpuSlowdown::kHardware, GpuSlowdown::kPowerBrake}) {
    const double share = share_of(gpu, slowdown);
    if (share >= kOften) {
      add(cause, fmt::format("{} for {:.0f} % of its busy time", to_string(slowdown), 100 * share),
          "check cooling and power supply (nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER)");
    }
  }
  const bool slow = gpu.clock_mhz > 0 && gpu.clock_mhz < 0.9 * gpu.clock_most_mhz;
  const double setting = share_of(gpu, GpuSlowdown::kClockSetting), power = share_of(gpu, GpuSlowdown::kPowerLimit);
  if (slow && setting >= kOften) {
    add(cause, fmt::format("limited by a clock setting for {:.0f} % of its busy time", 100 * setting),
        fmt::format("remove the setting: sudo nvidia-smi -i {0} -rgc && sudo nvidia-smi -i {0} -rac", gpu.index));
  }
  if (slow && power >= kOften && gpu.power_limit_w > 0 && gpu.power_limit_w < gpu.power_limit_default_w) {
    add(cause,
        fmt::format("at its power limit, {:.0f} W instead of {:.0f} W", gpu.power_limit_w, gpu.power_limit_default_w),
        fmt::format("restore the limit: sudo nvidia-smi -i {} -pl {:.0f}", gpu.index, gpu.power_limit_default_w));
  }
  // At the limit of its card, a GPU is as fast as it can be.
  if (cause.reasons.empty() && power < kOften && gpu.clock_mhz > 0 && gpu.clock_mhz < 0.75 * gpu.clock_most_mhz) {
    add(cause, "the driver reports no reason",
        fmt::format("compare with nvidia-smi -i {} -q -d CLOCK,PERFORMANCE while it works", gpu.index));
  }
  return cause;
}

std::optional<RunFinding> find_gpu_throttled(const RunProfile& profile) {
  RunFinding finding;
  for (const GpuUse& gpu : gpus_of_program(profile.gpus)) {
    if (gpu.busy_samples < kFewestBusySamples) continue;
    const ThrottleCause cause = cause_of(gpu);
    if (cause.reasons.empty()) continue;
    // Kernels are at most as much faster as the clock.
    const bool clocked = gpu.clock_mhz > 0 && gpu.clock_most_mhz > 0;
    const double slower =
        clocked ? std::clamp(1 - static_cast<double>(gpu.clock_mhz) / gpu.clock_most_mhz, 0.0, 0.9) : 0.1;
    finding.lost = std::max(finding.lost, gpu.utilisation_mean * slower);
    finding.evidence +=
        fmt::format("{}GPU {}: {}", finding.evidence.empty() ? "" : "; ", gpu.index, fmt::join(cause.reasons, ", "));
    if (clocked) finding.evidence += fmt::format("; its clock is {} of {} MHz", gpu.clock_mhz, gpu.clock_most_mhz);
    if (finding.change.empty()) finding.change = cause.change;
  }
  if (finding.evidence.empty()) return std::nullopt;
  finding.title = "a GPU runs more slowly than it could";
  if (finding.lost > 0.01) finding.gain = gain_without(finding.lost);
  return finding;
}

}  // namespace

const Rule kGpuThrottled{"gpu-throttled",
                         "for 10 % of its busy time, a GPU of the program is too hot or is slowed down by its "
                         "hardware; or its median clock is below 90 % of the maximum because of a setting or a reduced "
                         "power limit; or its median clock is below 75 % although the power limit is not reached",
                         find_gpu_throttled};

}  // namespace unstarve
