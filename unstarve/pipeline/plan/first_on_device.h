#pragma once
// Where the host's part of a pipeline ends when the spec requests operations on a device (device.operations: device).
//
// Threads: pure. Failure: Error(kArgument) where no operation gives all samples of an epoch one size, for batch
// operations and padding, and where an epoch is not every sample exactly once (a sample's draws are then not keyed by
// its epoch).

#include <cstddef>

#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// The index of the first operation on the device, in every epoch; the number of operations where the device only
// normalises.
[[nodiscard]] std::size_t first_on_device(const PipelineSpec& spec);

}  // namespace unstarve
