#pragma once
// Plans a run: selects the samples, gathers facts about the data, decides on an automatic cache, and makes the plan.
//
//   spec + dataset ──▶ samples ──▶ facts ──▶ (cache trial) ──▶ make_plan() ──▶ Plan, ExecutionPlan
//
// Threads: one caller. Failure: Error(kArgument) naming the node of the spec that does not fit the data; Error(kInput)
// for data without a readable image.
// Cost:    reads one record; without `basis.samples`, choose_samples() may read every record; cache.what: auto takes
//          about 50 ms (cache_trial.h).

#include <memory>
#include <string>

#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/plan/consumer.h"
#include "unstarve/pipeline/plan/execution.h"
#include "unstarve/pipeline/plan/gather_facts.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

struct PlannedRun {
  Plan plan;
  ExecutionPlan execution;
  RunData data;
  Order order;
};

// `basis` without samples: they are chosen here.
[[nodiscard]] PlannedRun plan_run(PipelineSpec spec, std::shared_ptr<const Dataset> dataset, const RunOptions& run,
                                  OrderBasis basis = {});

// As plan/explain.h.
[[nodiscard]] std::string explain(const PlannedRun& run);

}  // namespace unstarve
