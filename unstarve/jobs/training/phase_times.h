#pragma once
// What each phase of a progressive run took, and the effect of the schedules on the time of the run.
//
// The effect compares with the same number of epochs without the schedules. That time is an estimate: all samples of
// those epochs, at the rate of the phases with full values. If the run had no such phase, the rate is estimated too,
// from the last phase, in proportion to the number of pixels. Of the difference in a phase,
//
//   samples        is the time of the samples that were left out, at the full rate
//   image size     is the rest, if the images are smaller
//   augmentation   is the rest, if only the augmentation is weaker
//
// Nothing is known about the accuracy that a run without the schedules would reach.
//
// Threads: pure functions.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "unstarve/train/epoch_steps.h"
#include "unstarve/train/history.h"
#include "unstarve/train/progressive.h"

namespace unstarve {

// The part of a phase that a run trained. Times exclude evaluations and checkpoints.
struct PhaseTimes {
  TrainPhase phase;
  std::int64_t steps = 0;
  std::int64_t samples = 0;  // of all ranks
  double full_samples = 0;   // of the same epochs without a schedule of the samples
  double seconds = 0;
  double wait_seconds = 0;
  std::optional<double> accuracy;  // of the last evaluation in the phase

  [[nodiscard]] double samples_per_s() const { return seconds > 0 ? static_cast<double>(samples) / seconds : 0; }
};

struct ProgressiveEffect {
  double full_rate = 0;            // samples/s with full values
  bool full_rate_measured = true;  // otherwise estimated
  double seconds = 0;              // of training
  double seconds_without = 0;      // estimated, without the schedules
  // Estimated differences. Together they are seconds_without - seconds.
  double saved_by_image_size = 0, saved_by_augmentation = 0, saved_by_samples = 0;
};

// One entry per phase. A resumed run has only its own times: phases before it have 0 steps.
[[nodiscard]] std::vector<PhaseTimes> times_of(std::span<const TrainPhase> phases, const TrainHistory& history,
                                               const EpochSteps& epochs);
// Nothing if no phase was trained. `image_size`: the full one.
[[nodiscard]] std::optional<ProgressiveEffect> effect_of(std::span<const PhaseTimes> phases, int image_size);
// The estimated training time without the schedules at the end of each phase.
[[nodiscard]] double seconds_without(const PhaseTimes& phase, const ProgressiveEffect& effect);

}  // namespace unstarve
