#include "unstarve/train/history.h"

#include <algorithm>
#include <utility>

namespace unstarve {

void HistoryRecorder::add_step(std::int64_t epoch, std::int64_t samples, double wait_s) {
  const double now_s = training_seconds();
  const double step_s = now_s - std::exchange(counted_s_, now_s);
  history_.samples += samples;
  history_.wait_seconds += wait_s;
  if (epoch < 0) return;
  std::vector<EpochTimes>& epochs = history_.epochs;
  if (epochs.empty() || epochs.back().epoch != epoch) {
    const double before_s = epochs.empty() ? history_.wait_seconds - wait_s : 0;
    epochs.push_back({.epoch = epoch, .wait_seconds = before_s});
  }
  ++epochs.back().steps;
  epochs.back().samples += samples;
  epochs.back().seconds += step_s;
  epochs.back().wait_seconds += wait_s;
}

void HistoryRecorder::add_point(std::int64_t step, double loss, double learning_rate) {
  const double now_s = training_seconds();
  const double elapsed_s = std::max(now_s - reported_.seconds, 1e-9);
  history_.points.push_back({step, history_.samples, seconds(), loss, learning_rate,
                             (history_.wait_seconds - reported_.wait_seconds) / elapsed_s,
                             static_cast<double>(history_.samples - reported_.samples) / elapsed_s});
  reported_ = {history_.samples, now_s, history_.wait_seconds};
}

void HistoryRecorder::add_evaluation(const EvaluationPoint& point, double target) {
  history_.evaluations.push_back(point);
  history_.reached_target = target > 0 && point.accuracy >= target;
}

TrainHistory HistoryRecorder::finish(std::int64_t steps) {
  history_.steps = steps;
  history_.seconds = seconds();
  history_.training_seconds = training_seconds();
  return std::move(history_);
}

}  // namespace unstarve
