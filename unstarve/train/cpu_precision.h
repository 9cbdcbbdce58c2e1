#pragma once
// Precisions for which a CPU has instructions. Pure.

#include "unstarve/observe/machine.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

// Other precisions are emulated by oneDNN (the matrix library of libtorch) and slower than float32.
[[nodiscard]] PrecisionSupport cpu_precision(const MachineFacts& machine, Precision precision);

}  // namespace unstarve
