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

// `profile`: of a run with the settings `now`, whose steps take `step_s`, measured.
[[nodiscard]] GainPrediction predict_candidate(const Profile& profile, double step_s, const LadderContext& context,
                                               const Settings& now, const Settings& candidate);

}  // namespace unstarve
