#pragma once
// The phases of a run with progressive settings (train/progressive.h), and the pipeline that follows them.
//
// One loader runs through all phases: its operations have schedules, and its order knows the share of the samples of
// each epoch. Batches of the next phase are therefore prefetched as all others, and a run resumes at any batch.
//
// The phases depend on the number of epochs: a run that is limited only by minutes cannot have any. With both limits
// they follow the epochs, and the minutes may end the run in any phase. A run that is resumed with another number of
// epochs continues with the phases of that number.
//
// Threads: pure functions. Failure: Error(kArgument).

#include <vector>

#include "unstarve/core/size.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/pipeline/order/position.h"
#include "unstarve/train/progressive.h"

namespace unstarve {

struct ProgressiveRun {
  PipelineSpec pipeline;           // with the schedules of its operations
  std::vector<TrainPhase> phases;  // empty without progressive settings
  std::vector<EpochShare> shares;  // for OrderBasis; empty: whole epochs
};

// Throws with all faults of the settings and of their combination with the length of the run, one per line, each with
// its path. `epochs` and `minutes`: the limits of the run, 0: none.
void check_run(const Settings& settings, double epochs, double minutes);

// Precondition: check_run().
[[nodiscard]] ProgressiveRun progressive_run(const Settings& settings, double epochs);

// Throws unless the operations make images of train.image_size from images of `input`, in each phase or, without
// phases, in one of the epochs of their schedules: evaluations and checkpoints use that size. Padded batches are not
// checked. Precondition: check_run(), unless the settings are not progressive.
void check_image_size(const Settings& settings, double epochs, Size input);

}  // namespace unstarve
