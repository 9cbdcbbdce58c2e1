#pragma once
// The training time that two runs need to the same accuracy: to the highest one that both reach.
//
// Threads: pure functions.

#include <optional>
#include <span>

#include "unstarve/train/history.h"

namespace unstarve {

// Seconds of training, without evaluations, to the first evaluation with `accuracy`; between two evaluations, and from
// accuracy 0 at the begin to the first one, the accuracy rises linearly. Nothing if no evaluation reaches it.
[[nodiscard]] std::optional<double> seconds_to(double accuracy, std::span<const EvaluationPoint> evaluations);

struct TimesToAccuracy {
  double accuracy = 0;  // 0..1
  double before_s = 0, after_s = 0;
};
// Throws Error(kCheck) if one of the runs classifies no sample correctly.
[[nodiscard]] TimesToAccuracy times_to_accuracy(std::span<const EvaluationPoint> before,
                                                std::span<const EvaluationPoint> after);

}  // namespace unstarve
