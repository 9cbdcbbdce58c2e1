#pragma once
// For the tests of the executor and the tuner: the parts of a loader, without their loader (loader.cpp).

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "unstarve/pipeline/delivery/exact_delivery.h"
#include "unstarve/pipeline/executor/error_policy.h"
#include "unstarve/pipeline/executor/executor.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/run.h"
#include "unstarve/pipeline/executor/run_tuner.h"

namespace unstarve {

struct LoaderParts {
  LoaderParts(const PipelineSpec& spec, std::shared_ptr<const Dataset> dataset,
              const RunOptions& options = {.usable_cores = 2, .epochs = 1})
      : run(plan_run(spec, std::move(dataset), options), options, {}, nullptr, steady_clock()),
        errors(run.plan.spec.errors, run.resources, run.epoch_order, false),
        delivery(std::make_shared<ExactDelivery>(run.run_order, layout_of(run), SlotLimits{run.execution.prefetch, 64},
                                                 *device)),
        tuner(run, executor, consumption),
        executor(run, errors, delivery, tuner.periodic()) {}

  static SlotLayout layout_of(const Run& run) {
    SlotLayout layout;
    layout.samples = static_cast<std::size_t>(run.plan.spec.batch.size);
    layout.sample_bytes = run.storer.sample_bytes(run.plan.sample_size());
    layout.slot_bytes = batch_bytes(run.plan);
    return layout;
  }

  // Takes and releases up to `most` batches; returns the ids of their samples.
  std::vector<std::uint64_t> take(std::size_t most) {
    std::vector<std::uint64_t> ids;
    for (; most > 0; --most) {
      Slot* const slot = delivery->take();
      if (slot == nullptr) break;
      const auto begin = slot->arrays.ids.begin();
      ids.insert(ids.end(), begin, begin + static_cast<std::ptrdiff_t>(slot->delivered.samples));
      ++consumption.batches;
      consumption.samples += static_cast<std::int64_t>(slot->delivered.valid);
      delivery->release(*slot);
    }
    return ids;
  }

  const std::unique_ptr<Device> device = open_device("cpu");
  const Run run;
  ErrorPolicy errors;
  const std::shared_ptr<Delivery> delivery;
  Consumption consumption;
  RunTuner tuner;
  Executor executor;  // last: its threads use all of the above
};

}  // namespace unstarve
