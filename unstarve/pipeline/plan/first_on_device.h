#pragma once
// The first operation that runs on a device if the spec requests it (device.operations: device).
//
// Threads: pure. Failure: Error(kArgument) for batch operations and padding, if no operation has a fixed output size,
// and unless an epoch contains every sample exactly once (otherwise draws are not keyed by the epoch).

#include <cstddef>

#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// The index of the first operation on the device, valid for every epoch; the number of operations if the device only
// normalises.
[[nodiscard]] std::size_t first_on_device(const PipelineSpec& spec);

}  // namespace unstarve
