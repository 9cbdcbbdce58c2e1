#pragma once
// The part of check_spec() that judges which samples come when: source, mix, order.

#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// Throws Error(kArgument) whose message begins with the node.
void check_sources(const PipelineSpec& spec);

}  // namespace unstarve
