#pragma once
// What the model of the step (observe/step_model.h) predicts for a candidate before it is measured.
//
//   threads, prefetch   the model with the new numbers
//   decoding            a bound: as if the loader took no time
//   the consumer        a bound: as if the consumer took no time
//   host settings       nothing: they change both
//
// Threads: a pure function.

#include "unstarve/core/profile.h"
#include "unstarve/jobs/ladder/ladder_step.h"
#include "unstarve/observe/step_model.h"

namespace unstarve {

// Of the latest blocks.
struct MeasuredStep {
  double seconds = 0;
  double wait_s = 0;  // for the loader
};

// `profile` and `step`: of runs with the settings `now`. The time of the consumer is that of the blocks: between blocks
// it pauses, which its profile cannot know. The interval includes 2 % more on both sides: times of blocks differ from
// run to run.
[[nodiscard]] GainPrediction predict_candidate(const Profile& profile, const MeasuredStep& step,
                                               const LadderContext& context, const Settings& now,
                                               const Settings& candidate);

}  // namespace unstarve
