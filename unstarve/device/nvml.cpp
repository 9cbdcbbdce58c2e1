#include "unstarve/device/nvml.h"

#include <algorithm>
#include <vector>

#include "unstarve/device/nvml_sampler.h"

namespace unstarve {

const char* to_string(GpuSlowdown slowdown) noexcept {
  switch (slowdown) {
    case GpuSlowdown::kClockSetting: return "a clock setting";
    case GpuSlowdown::kPowerLimit: return "at the power limit";
    case GpuSlowdown::kHardware: return "slowed down by the hardware";
    case GpuSlowdown::kTooHot: return "too hot";
    case GpuSlowdown::kHardwareTooHot: return "too hot, slowed down by the hardware";
    case GpuSlowdown::kPowerBrake: return "slowed down by the power supply";
  }
  return "unknown";
}

GpuStates read_gpu_states(const std::string& library) {
  GpuStates states = NvmlSampler(library).states();
  // A GPU at its power limit is at full speed for this purpose.
  for (GpuState& gpu : states.gpus) std::erase(gpu.slowdowns, GpuSlowdown::kPowerLimit);
  return states;
}

}  // namespace unstarve
