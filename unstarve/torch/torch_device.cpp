#include "unstarve/torch/torch_device.h"

#include <charconv>
#include <fstream>

#include <ATen/DeviceAccelerator.h>
#include <ATen/Version.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/torch/common/guards.h"
#include "unstarve/torch/torch_trainer.h"

namespace unstarve {
namespace {

constexpr std::string_view kCuda = "cuda";

int cuda_devices() {
  const auto* guard = c10::impl::device_guard_impl_registry[static_cast<std::size_t>(c10::DeviceType::CUDA)].load();
  return guard == nullptr ? 0 : guard->deviceCount();
}

}  // namespace

torch::Device parse_device(const std::string& name) {
  if (name == "cpu") return torch::kCPU;
  int index = 0;
  bool valid = name == kCuda;
  if (name.starts_with("cuda:") && name.size() > 5) {
    const auto [end, error] = std::from_chars(name.data() + 5, name.data() + name.size(), index);
    valid = error == std::errc() && end == name.data() + name.size() && index >= 0 && index < 128;
  }
  if (!valid) {
    throw Error(ErrorKind::kArgument,
                fmt::format("unknown training device \"{}\"; expected cpu, cuda or cuda:N", name));
  }
  if (const LibtorchFacts facts = torch_facts(); !facts.cuda) {
    throw Error(ErrorKind::kMissing, fmt::format("device {}: libtorch {} of this build has no CUDA. Install a CUDA "
                                                 "variant of torch and build again",
                                                 name, facts.version));
  }
  const int count = cuda_devices();
  if (index >= count) {
    throw Error(ErrorKind::kMissing,
                fmt::format("device {}: found {} CUDA devices; expected a lower index", name, count));
  }
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

torch::ScalarType torch_type(Precision precision) {
  switch (precision) {
    case Precision::kBfloat16: return torch::kBFloat16;
    case Precision::kFloat16: return torch::kFloat16;
    case Precision::kFloat32: break;
  }
  return torch::kFloat32;
}

PrecisionSupport libtorch_precision(const std::string& device, Precision precision) {
  const torch::Device parsed = parse_device(device);
  // libtorch 2.11 and 2.13 cannot say this for CUDA; train/device_precision.h does.
  if (parsed.is_cuda() || precision == Precision::kFloat32) return {true, ""};
  const auto types = translate_errors("querying the precisions of " + device, [&] {
    return at::accelerator::getDeviceCapability(parsed.index()).capability_data.supported_scalar_types;
  });
  const bool supported = precision == Precision::kBfloat16 ? types.has_BFloat16 : types.has_Half;
  if (supported) return {true, ""};
  return {false, fmt::format("{} does not support {}", device, to_string(precision))};
}

LibtorchFacts torch_facts() {
  const bool cuda = c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA);
  return {std::string(TORCH_VERSION) + (cuda ? "+cuda" : "+cpu"), cuda, "", at::get_cpu_capability()};
}

void reset_peak_memory(torch::Device device) {
  if (!device.is_cpu()) return at::accelerator::resetPeakStats(device.index());
  // proc(5): "5" resets the high-water mark of resident memory. No effect with a read-only /proc.
  std::ofstream("/proc/self/clear_refs") << "5";
}

std::size_t free_memory(torch::Device device) {
  return device.is_cpu() ? 0 : at::accelerator::getMemoryInfo(device.index()).first;
}

std::size_t peak_memory(torch::Device device) {
  if (!device.is_cpu()) {
    const auto stats = at::accelerator::getDeviceStats(device.index());
    const auto total = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    return static_cast<std::size_t>(stats.allocated_bytes[total].peak);
  }
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace unstarve
