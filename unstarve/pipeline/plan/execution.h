#pragma once
// How a plan is executed: threads, prefetch, reads in flight and memory, resolved once from the spec, the usable cores,
// the memory limit and the data. Not part of the plan: none of it changes a batch in exact order.
//
// Threads: pure. Failure: Error(kArgument) if the memory limit is below the minimum.

#include <cstdint>
#include <string>

#include "unstarve/pipeline/plan/memory_plan.h"

namespace unstarve {

struct Plan;
struct RunOptions;

// The memory or file of the cache that the spec requests.
struct CacheRoom {
  std::uint64_t bytes = 0;        // 0: no room within the memory limit, or no cache
  std::uint64_t table_bytes = 0;  // bookkeeping that counts towards the memory limit; 0: not counted
  bool shared = false;            // with batches that the consumer keeps: the cache part of the memory limit
};

struct ExecutionPlan {
  int threads = 1;     // worker threads; initial value if `tuned`
  int prefetch = 2;    // batches; initial value if `tuned`
  bool tuned = false;  // threads and prefetch are autotuned
  int read_ahead = 0;  // reads in flight
  bool read_ahead_tuned = false;
  int max_read_ahead = 0;  // maximum for the autotuner
  std::string read_ahead_reason{};
  MemoryPlan memory{};
  CacheRoom cache{};
};

// From spec, facts and sizes of the plan before its passes.
[[nodiscard]] ExecutionPlan resolve_execution(const Plan& plan, const RunOptions& run);

}  // namespace unstarve
