#pragma once
// From spec and facts to the plan that is executed: builds the literal program, then runs all passes and verifies the
// program after each.
//
// Threads: pure. Failure: Error(kArgument) naming the node of the spec that does not fit the data; Error(kInternal)
// when a pass leaves a program that is not valid.

#include <string>

namespace unstarve {

struct DataFacts;
struct PipelineSpec;
struct Plan;
struct RunOptions;

// Preconditions: check_spec(spec); facts of the same spec; cache.what is not auto (executor/plan_run.h decides it, and
// gives the reason as `cache_choice`).
[[nodiscard]] Plan make_plan(PipelineSpec spec, DataFacts facts, const RunOptions& run, std::string cache_choice = {});

}  // namespace unstarve
