#include "unstarve/diagnose/profile/gpu_use.h"

#include <algorithm>

namespace unstarve {

std::vector<GpuUse> gpus_of_program(const std::vector<GpuUse>& gpus) {
  const bool known = std::ranges::any_of(gpus, [](const GpuUse& gpu) { return gpu.used; });
  std::vector<GpuUse> chosen;
  for (const GpuUse& gpu : gpus)
    if (known ? gpu.used : gpu.samples > 0) chosen.push_back(gpu);
  return chosen;
}

}  // namespace unstarve
