#pragma once
// From spec and facts to the plan that is executed: builds the literal program, then runs all passes and verifies the
// program after each.
//
// Threads: pure. Failure: Error(kArgument) naming the node of the spec that does not fit the data; Error(kInternal)
// when a pass leaves a program that is not valid.

#include <string_view>

#include "unstarve/pipeline/plan/execution.h"
#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

struct RunOptions;

struct MadePlan {
  Plan plan;
  ExecutionPlan execution;
};

// Preconditions: check_spec(spec); facts of the same spec; cache.what is not auto (executor/plan_run.h decides it, and
// gives the reason as `cache_choice`).
[[nodiscard]] MadePlan make_plan(PipelineSpec spec, DataFacts facts, const RunOptions& run,
                                 std::string_view cache_choice = {});

// spec.cache, or no cache if `passes: {cache: false}` switches it off.
[[nodiscard]] CacheSpec requested_cache(const PipelineSpec& spec);

}  // namespace unstarve
