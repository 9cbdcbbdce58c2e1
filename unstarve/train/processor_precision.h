#pragma once
// Which precisions a processor computes in by instructions of its own. Pure.

#include "unstarve/observe/machine.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

// In the others oneDNN, which does libtorch's matrix products, emulates them and is slower than in float32.
[[nodiscard]] PrecisionSupport processor_precision(const MachineFacts& machine, Precision precision);

}  // namespace unstarve
