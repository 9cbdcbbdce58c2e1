#pragma once
// The position in the data at which a training run starts: the beginning, or the resume position of a checkpoint.
//
// A checkpoint contains the state of its loader (pipeline/order/run_state.h). The run continues with the remaining
// samples of the epoch, also with another batch size, other ranks, active filters, out-of-order delivery or other
// mixture weights.
//
// Threads: pure functions. Failure: Error(kArgument), which names the checkpoint, if it belongs to other data, another
// seed or another order, or has no position.

#include <cstdint>
#include <string>

#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/order/progress.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/train/epoch_steps.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

struct ResumePosition {
  PipelineSpec pipeline;  // as requested, except for buckets: those of the run that started the epoch
  OrderBasis basis;
  std::uint64_t data = 0;  // data_identity()
  EpochPosition start;
  EpochSteps epoch_steps;       // batches per epoch
  std::int64_t first_step = 0;  // TrainPlan::first_step

  // The step at which `epochs` are complete.
  [[nodiscard]] std::int64_t steps_of(double epochs) const { return first_step + epoch_steps.steps_of(epochs); }
  // Number of epochs completed after step `step`.
  [[nodiscard]] double epochs_at(std::int64_t step) const { return epoch_steps.epochs_at(step - first_step); }
  // TrainProgress::data for the progress of a loader.
  [[nodiscard]] std::string state(const RankProgress& progress) const;
};

// `basis`: samples that choose_samples() selects for `pipeline` and `dataset`, and shares of epochs. `done`: the
// progress of `checkpoint`, whose name is for messages; step 0 without data: start at the beginning.
[[nodiscard]] ResumePosition resume_position_in(const PipelineSpec& pipeline, const Dataset& dataset, OrderBasis basis,
                                                const TrainProgress& done, const std::string& checkpoint);

}  // namespace unstarve
