#include "unstarve/torch/placement.h"

#include <ATen/DeviceAccelerator.h>

#include "unstarve/torch/torch_device.h"

namespace unstarve {

void Placement::use() const {
  // OpenMP stores the number of threads per calling thread; changing it clears the cached kernels of oneDNN.
  if (torch::get_num_threads() != threads) torch::set_num_threads(threads);
  if (!device.is_cpu()) at::accelerator::setDeviceIndex(device.index());
}

Placement placement_of(const TrainSettings& settings, const Ranks& ranks) {
  torch::Device device = parse_device(settings.device);
  if (!device.is_cpu() && !device.has_index() && ranks.several())
    device.set_index(static_cast<c10::DeviceIndex>(ranks.local_rank));
  return {device, torch_type(settings.precision),
          settings.channels_last ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous,
          settings.operator_threads > 0 ? settings.operator_threads : cores_of_rank(ranks)};
}

}  // namespace unstarve
