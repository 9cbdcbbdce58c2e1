#pragma once
// Compares two settings by whole training runs: by the training time to the highest accuracy that both reach.
//
// Threads: one; the functions of evaluations are pure. Failure: as the runs; Error(kCheck) as times_to_accuracy().

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "unstarve/jobs/settings/settings.h"
#include "unstarve/observe/ledger.h"
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

// A whole run with validation.
using TrainRun = std::function<TrainHistory(const Settings& settings)>;

// Runs kMinPairs pairs, each with a seed of its own, in the order A B B A ..., and completes `entry`, which has a name.
// `report` receives what runs.
void compare_by_accuracy(const Settings& before, const Settings& after, const TrainRun& train,
                         const std::function<void(std::string_view what)>& report, LedgerEntry& entry);

}  // namespace unstarve
