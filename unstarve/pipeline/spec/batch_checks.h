#pragma once
// The part of check_spec() that is about batches.

#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// Throws Error(kArgument) that begins with the node.
void check_batch(const PipelineSpec& spec);

}  // namespace unstarve
