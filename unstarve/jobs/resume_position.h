#pragma once
// Where in its data a training run begins: at the beginning, or where the run of a checkpoint stood.
//
// A checkpoint holds the state of its loader (pipeline/order/run_state.h), so that what was left of the epoch is what
// comes next, also in batches of another size, with other ranks, filters that stand, relaxed order or other weights of
// a mixture.
//
// Threads: plain functions. Failure: Error(kArgument), which names the checkpoint, where it is of other data, seed or
// order, or says nothing of its place in relaxed order.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/order/progress.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

struct ResumePosition {
  PipelineSpec pipeline;  // as asked for, but for buckets, which are those of the run that began the epoch
  OrderBasis basis;
  std::uint64_t data = 0;  // data_identity()
  Position start;
  std::int64_t per_epoch = 0;   // batches of a whole epoch
  std::int64_t first_step = 0;  // TrainPlan::first_step

  // The number of the step with which `epochs` are over.
  [[nodiscard]] std::int64_t steps_of(double epochs) const;
  // How many epochs are over behind step `step`.
  [[nodiscard]] double epochs_at(std::int64_t step) const;
  // TrainProgress::data of a loader from here on.
  [[nodiscard]] std::string state(const RankProgress& progress) const;
};

// `samples`: what choose_samples() gives of `pipeline` and `dataset`. `done`: of `checkpoint`, which names it in
// messages; step 0 and no data: from the beginning. A checkpoint with a step alone, of an earlier version, goes on
// behind so many batches of today's size in exact order, and a notice says what must be the same for that.
[[nodiscard]] ResumePosition resume_position_in(const PipelineSpec& pipeline, const Dataset& dataset,
                                                std::shared_ptr<const SampleSet> samples, const TrainProgress& done,
                                                const std::string& checkpoint);

}  // namespace unstarve
