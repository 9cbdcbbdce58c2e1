#pragma once
// Precisions for which a CPU or a GPU has instructions. Pure.

#include <string>

#include "unstarve/device/device.h"
#include "unstarve/observe/machine.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

// Other precisions are emulated by oneDNN (the matrix library of libtorch) and slower than float32.
[[nodiscard]] PrecisionSupport cpu_precision(const MachineFacts& machine, Precision precision);
// For "cuda" or "cuda:N". Other precisions are emulated, as bfloat16 on a T4. A GPU that is not in `report`, as in a
// build without CUDA, supports all.
[[nodiscard]] PrecisionSupport gpu_precision(const DeviceReport& report, const std::string& device,
                                             Precision precision);

}  // namespace unstarve
