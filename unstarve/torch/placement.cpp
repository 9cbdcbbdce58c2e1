#include "unstarve/torch/placement.h"

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>

#include "unstarve/torch/torch_device.h"

namespace unstarve {

void Placement::use() const {
  // OpenMP stores the number of threads per calling thread; changing it clears the cached kernels of oneDNN.
  if (torch::get_num_threads() != threads) torch::set_num_threads(threads);
  if (device.is_cpu()) return;
  // The allocator of a GPU has no devices, and fails, before this.
  at::globalContext().lazyInitDevice(device.type());
  at::accelerator::setDeviceIndex(device.index());
}

Placement placement_of(const TrainSettings& settings, const Ranks& ranks) {
  return {parse_device(device_of_rank(settings.device, ranks)), torch_type(settings.precision),
          settings.channels_last ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous,
          settings.operator_threads > 0 ? settings.operator_threads : cores_of_rank(ranks)};
}

}  // namespace unstarve
