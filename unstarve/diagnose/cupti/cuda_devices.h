#pragma once
// The devices of this process as CUDA numbers them: $CUDA_VISIBLE_DEVICES is taken into account.
//
// Threads: one at a time. Failure: nothing throws.

#include "unstarve/diagnose/cupti/kernel_log.h"

namespace unstarve {

// Writes an entry kDevice for each device, by the driver that the program has loaded. False: CUDA is not initialised.
[[nodiscard]] bool write_devices(KernelLog& log) noexcept;

}  // namespace unstarve
