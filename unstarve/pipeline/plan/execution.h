#pragma once
// Threads, prefetch and reads, resolved once: what execution.threads: 0, execution.read_ahead: -1, the autotuner, the
// memory limit and the data come to.
//
// Threads: pure. Failure: Error(kArgument) when the memory limit is below the smallest working set.

#include <string>

#include "unstarve/pipeline/plan/consumer.h"

namespace unstarve {

struct Plan;

struct ExecutionPlan {
  int threads = 1;     // worker threads; the autotuner's starting point where `tuned`
  int prefetch = 2;    // batches; likewise
  bool tuned = false;  // threads and prefetch follow measurements during the run
  int read_ahead = 0;  // records read before workers need them
  bool read_ahead_tuned = false;
  int most_read_ahead = 0;  // the autotuner's upper bound
  std::string read_ahead_reason{};
};

// Sets plan.execution and plan.memory from plan.spec, plan.data and the sizes of plan.stages.
void resolve_execution(Plan& plan, const RunOptions& run);

}  // namespace unstarve
