#include "unstarve/train/device_precision.h"

#include <cstdlib>

#include <fmt/format.h>

namespace unstarve {

PrecisionSupport cpu_precision(const MachineFacts& machine, Precision precision) {
  switch (precision) {
    case Precision::kFloat32: break;
    case Precision::kBfloat16:
      if (machine.has("avx512_bf16") || machine.has("amx_bf16") || machine.has("neon_bf16")) break;
      return {false, "this CPU has no bfloat16 instructions (avx512_bf16 or amx_bf16)"};
    case Precision::kFloat16:
      // With avx512_fp16 alone, oneDNN computes gradients of weights by a reference kernel: 4 images/s, not 1,500.
      if (machine.has("amx_fp16")) break;
      return {false, "this CPU has no float16 instructions that train (amx_fp16)"};
  }
  return {true, ""};
}

PrecisionSupport gpu_precision(const DeviceReport& report, const std::string& device, Precision precision) {
  const std::size_t colon = device.find(':');
  const std::size_t index = colon == std::string::npos ? 0 : std::strtoul(device.c_str() + colon + 1, nullptr, 10);
  if (precision == Precision::kFloat32 || index >= report.gpus.size()) return {true, ""};
  const DeviceReport::Gpu& gpu = report.gpus[index];
  const int needed = precision == Precision::kBfloat16 ? 8 : 7;
  if (gpu.capability_major >= needed) return {true, ""};
  return {false, fmt::format("{} has compute capability {}.{}; {} needs {}.0", gpu.name, gpu.capability_major,
                             gpu.capability_minor, to_string(precision), needed)};
}

}  // namespace unstarve
