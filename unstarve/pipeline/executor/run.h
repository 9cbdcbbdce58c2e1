#pragma once
// Shared by all parts of a loader: the plan of a run, its order and its opened resources.
//
// Threads: immutable during the run; what it refers to may be used by any thread.

#include <cstdint>
#include <memory>

#include "unstarve/core/clock.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/executor/resources.h"
#include "unstarve/pipeline/order/run_order.h"

namespace unstarve {

class DecodeBalance;

struct Run {
  // `options`: those of plan_run(). `balance`: null if the host decodes all samples.
  Run(PlannedRun&& planned, const RunOptions& options, const EpochPosition& start,
      std::shared_ptr<DecodeBalance> balance, Clock& the_clock)
      : plan(std::move(planned.plan)),
        epoch_order(std::move(planned.order)),
        execution(std::move(planned.execution)),
        resources(open_resources(plan, execution, planned.data)),
        run_order(epoch_order, start, options.epochs),
        storer(plan.store().format),
        decode_balance(std::move(balance)),
        usable_cores(options.usable_cores),
        clock(the_clock) {}

  [[nodiscard]] bool relaxed() const { return plan.spec.execution.order == ExecutionOrder::kRelaxed; }

  const Plan plan;
  const Order epoch_order;  // of a whole epoch
  const ExecutionPlan execution;
  const Resources resources;
  const RunOrder run_order;
  const Storer storer;
  const std::shared_ptr<DecodeBalance> decode_balance;
  const int usable_cores;
  Clock& clock;
};

}  // namespace unstarve
