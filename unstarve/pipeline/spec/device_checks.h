#pragma once
// The part of check_spec() that is about the device.

#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// Throws Error(kArgument) that begins with the node.
void check_device(const DeviceSpec& device);

}  // namespace unstarve
