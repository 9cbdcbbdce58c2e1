#pragma once
// The parts of check_spec(), one per section of a spec. Private to pipeline/spec.
//
// Each throws Error(kArgument) whose message begins with the node, for example "batch.size: 0, expected 1 or more".

#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

void check_batch(const PipelineSpec& spec);
void check_device(const DeviceSpec& device);
// source, mix and order.
void check_sources(const PipelineSpec& spec);

}  // namespace unstarve
