#pragma once
// From spec and facts to the plan that is executed: builds the literal program and runs all passes.
//
// Threads: pure. Failure: Error(kArgument) naming the node of the spec that does not fit the data.

#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {

// Preconditions: check_spec(spec); facts of the same spec; cache.what is not auto (executor/plan_run.h decides it, and
// gives the reason as `cache_choice`).
[[nodiscard]] Plan make_plan(PipelineSpec spec, DataFacts facts, const RunOptions& run, std::string cache_choice = {});

}  // namespace unstarve
