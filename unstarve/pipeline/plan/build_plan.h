#pragma once
// The plan before any pass: a program that follows the spec literally.
//
//   Read, Open, Decode(whole), then Apply(i), Materialise for each operation, Store
//
// Threads: pure. Failure: Error(kArgument) naming the node of the spec that does not fit the data.

#include "unstarve/pipeline/plan/consumer.h"
#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

// Precondition: check_spec(spec) and facts of the same spec.
[[nodiscard]] Plan build_plan(PipelineSpec spec, DataFacts facts, const RunOptions& run);

}  // namespace unstarve
