#pragma once
// The history of a training run as JSON, for `unstarve train --json` and for Python.
//
// Threads: pure functions.

#include <nlohmann/json_fwd.hpp>

#include "unstarve/train/history.h"

namespace unstarve {

// {step, seconds, loss, learning_rate, data_wait, samples_per_s}
[[nodiscard]] nlohmann::ordered_json to_json(const TrainPoint& point);
// {step, seconds, accuracy, loss, accuracy_top5: null with up to 5 classes}
[[nodiscard]] nlohmann::ordered_json to_json(const EvaluationPoint& point);
// {steps, samples, seconds, samples_per_s, data_wait, loss_first, loss_last, accuracy, val_loss, points[],
// evaluations[]}; accuracy and val_loss are null without an evaluation.
[[nodiscard]] nlohmann::ordered_json to_json(const TrainHistory& history);

}  // namespace unstarve
