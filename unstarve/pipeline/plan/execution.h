#pragma once
// Threads, prefetch and reads in flight, resolved once from the spec, the usable cores, the memory limit and the data.
//
// Threads: pure. Failure: Error(kArgument) if the memory limit is below the minimum.

#include <string>

namespace unstarve {

struct Plan;
struct RunOptions;

struct ExecutionPlan {
  int threads = 1;     // worker threads; initial value if `tuned`
  int prefetch = 2;    // batches; initial value if `tuned`
  bool tuned = false;  // threads and prefetch are autotuned
  int read_ahead = 0;  // reads in flight
  bool read_ahead_tuned = false;
  int most_read_ahead = 0;  // maximum for the autotuner
  std::string read_ahead_reason{};
};

// Sets plan.execution and plan.memory from plan.spec, plan.facts and the sizes of plan.stages.
void resolve_execution(Plan& plan, const RunOptions& run);

}  // namespace unstarve
