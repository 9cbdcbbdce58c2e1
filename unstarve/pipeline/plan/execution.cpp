#include "unstarve/pipeline/plan/execution.h"

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/pipeline/plan/consumer.h"
#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {
namespace {

// Bookkeeping of a cache per record, whether the record is cached or not.
constexpr std::uint64_t kTableBytesPerRecord = 40;

std::uint64_t batch_values(const Plan& plan) {
  const Size sample = plan.sample_size();
  return static_cast<std::uint64_t>(plan.spec.batch.size) * static_cast<std::uint64_t>(sample.width) *
         static_cast<std::uint64_t>(sample.height) * kChannels;
}

MemoryNeeds memory_needs(const Plan& plan, const RunOptions& run, int threads) {
  const ExecutionSpec& requested = plan.spec.execution;
  const CacheSpec& cache = plan.spec.cache;
  const bool undecided = cache.what == CacheWhat::kAuto;
  const bool cache_in_memory = undecided || (cache.what != CacheWhat::kNothing && cache.folder.empty());
  MemoryNeeds needs;
  needs.batch = batch_bytes(plan);
  needs.device = run.on_device.per_value * batch_values(plan) + run.on_device.fixed;
  needs.threads = threads;
  needs.prefetch = requested.prefetch;
  needs.grow = run.grow;
  needs.relaxed = requested.order == ExecutionOrder::kRelaxed;
  needs.cache = cache_in_memory ? cache.limit_mb * 1'000'000 : 0;
  needs.read_ahead = requested.read_ahead != 0;
  if (requested.memory_limit_mb == 0) return needs;
  const LargestSample& largest = plan.facts.largest.value();
  const bool pixel_cache = undecided || cache.what == CacheWhat::kPixels;
  needs.limit = requested.memory_limit_mb * 1'000'000;
  needs.record = largest.record_bytes;
  const Size decoded = plan.facts.encoded ? largest.image : Size{};
  const WorkerLoad load{largest.record_bytes, largest.image, decoded, decoded, pixel_cache};
  for (const ScheduleStage& stage : plan.stages)
    needs.worker = std::max(needs.worker, worker_bytes(load, stage.operations));
  needs.fewer_threads = requested.threads == 0;
  needs.read_ahead = requested.read_ahead > 0 || (requested.read_ahead < 0 && plan.facts.reads_in_flight > 0);
  return needs;
}

CacheRoom cache_room(const Plan& plan, const MemoryPlan& memory) {
  const CacheSpec& requested = plan.spec.cache;
  if (requested.what == CacheWhat::kNothing) return {};
  if (memory.limit == 0 || !requested.folder.empty()) return {requested.limit_mb * 1'000'000, 0, false};
  const std::uint64_t table = plan.facts.records * kTableBytesPerRecord;
  return {memory.cache > table ? memory.cache - table : 0, table, true};
}

void resolve_read_ahead(const Plan& plan, ExecutionPlan& execution) {
  const ExecutionSpec& requested = plan.spec.execution;
  const MemoryPlan& memory = execution.memory;
  const bool chosen_here = requested.read_ahead < 0;
  int reads = chosen_here ? plan.facts.reads_in_flight : requested.read_ahead;
  if (memory.limit > 0 && memory.read_ahead == 0 && reads > 0) {
    execution.read_ahead_reason = "no room for it within execution.memory_limit_mb";
    return;
  }
  execution.read_ahead = reads;
  execution.read_ahead_tuned = chosen_here && requested.autotune;
  // Out-of-order delivery numbers samples as they are read, and a memory limit is divided before the run: with either,
  // read-ahead is in use from the start or never.
  const bool may_begin_later = requested.order == ExecutionOrder::kExact && memory.limit == 0;
  if (execution.read_ahead_tuned)
    execution.max_read_ahead = reads > 0 ? reads : may_begin_later ? plan.facts.most_reads_in_flight : 0;
  if (reads == 0) {
    execution.read_ahead_reason = chosen_here
                                      ? "nothing to gain: the data is in memory or in the page cache, or unpacking "
                                        "them takes longer than reading"
                                      : "switched off by execution.read_ahead";
    if (execution.max_read_ahead > 0)
      execution.read_ahead_reason += "; starts during the run if workers wait for reads";
    return;
  }
  execution.read_ahead_reason =
      fmt::format("{} records in flight, {}{}", reads,
                  chosen_here ? "the data is on a cold disk or on a server" : "as requested by execution.read_ahead",
                  execution.read_ahead_tuned ? "; the starting point, autotuned during the run" : "");
}

}  // namespace

ExecutionPlan resolve_execution(const Plan& plan, const RunOptions& run) {
  const ExecutionSpec& requested = plan.spec.execution;
  ExecutionPlan execution;
  execution.tuned = requested.threads == 0 && requested.autotune;
  execution.memory = plan_memory(memory_needs(plan, run, requested.initial_threads(run.usable_cores)));
  execution.threads = execution.memory.threads;
  execution.prefetch = execution.memory.prefetch;
  if (execution.tuned && execution.memory.limit > 0) leave_room_for_threads(execution.memory);
  execution.cache = cache_room(plan, execution.memory);
  resolve_read_ahead(plan, execution);
  return execution;
}

}  // namespace unstarve
