#include "unstarve/pipeline/executor/plan_run.h"

#include <algorithm>

#include "unstarve/ops/replace_means.h"
#include "unstarve/pipeline/executor/cache_trial.h"
#include "unstarve/pipeline/passes/make_plan.h"
#include "unstarve/pipeline/plan/build_plan.h"
#include "unstarve/pipeline/plan/explain.h"
#include "unstarve/pipeline/plan/first_on_device.h"
#include "unstarve/pipeline/spec/check_spec.h"

namespace unstarve {

PlannedRun plan_run(PipelineSpec spec, std::shared_ptr<const Dataset> dataset, const RunOptions& run,
                    OrderBasis basis) {
  check_spec(spec);
  replace_means(spec.operations, spec.output.normalisation);  // fill: mean
  // Throws if the operations cannot be split between host and device.
  if (spec.device.operations == OperationsOn::kDevice) (void)first_on_device(spec);
  if (!basis.samples) basis.samples = choose_samples(spec, *dataset, spec.execution.initial_threads(run.usable_cores));
  Order order(spec.order, spec.batch, basis);
  RunData data{std::move(dataset), std::move(basis.samples)};
  DataFacts facts = gather_facts(spec, data);
  std::string choice;
  spec.cache = requested_cache(spec);
  if (spec.cache.what == CacheWhat::kAuto) {
    Plan plan = build_plan(spec, facts, run);
    ExecutionPlan execution = resolve_execution(plan, run);
    const CacheTrial trial{std::move(plan), std::move(execution), data, order.batches_per_epoch()};
    CacheDecision decision = decide_cache(trial, run);
    spec.cache = std::move(decision.cache);
    choice = std::move(decision.reason);
  }
  MadePlan made = make_plan(std::move(spec), std::move(facts), run, choice);
  return {std::move(made.plan), std::move(made.execution), std::move(data), std::move(order)};
}

std::string explain(const PlannedRun& run) { return explain(run.plan, run.execution, *run.data.samples, run.order); }

}  // namespace unstarve
