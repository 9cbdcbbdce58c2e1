#pragma once
// The devices of this process as CUDA numbers them: $CUDA_VISIBLE_DEVICES is taken into account.
//
// Threads: any. Failure: only std::bad_alloc.

#include <string>
#include <utility>
#include <vector>

#include "unstarve/diagnose/cupti/kernel_log.h"

namespace unstarve {

// An entry kDevice with its text for each device, by the driver that the program has loaded. Empty: CUDA is not
// initialised. It calls the driver, which may wait for other threads of the program: hold no lock.
[[nodiscard]] std::vector<std::pair<KernelLogEntry, std::string>> cuda_devices();

}  // namespace unstarve
