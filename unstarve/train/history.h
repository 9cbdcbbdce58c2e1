#pragma once
// What a training run did, and the recorder by which the training loop (loop.h) collects it.
//
// Threads: one at a time.

#include <cstdint>
#include <optional>
#include <vector>

#include "unstarve/core/clock.h"

namespace unstarve {

struct TrainPoint {
  std::int64_t step = 0;  // steps done
  std::int64_t samples = 0;
  double seconds = 0;  // since the start of this run
  double loss = 0;     // of the latest step
  double learning_rate = 0;
  double wait_share = 0;     // share of the time since the previous point spent waiting for batches
  double samples_per_s = 0;  // over the same time without evaluations
};

struct EvaluationPoint {
  std::int64_t step = 0;
  double seconds = 0;                     // since the start of this run
  double training_seconds = 0;            // of which without evaluations and checkpoints
  double accuracy = 0;                    // share of samples, 0..1
  double loss = 0;                        // mean
  std::optional<double> accuracy_top5{};  // with more than kTopClasses classes
};

// What a run did in one epoch of the data. Times exclude evaluations and checkpoints. On a GPU they are those of the
// host, which queues at most the batches in flight.
struct EpochTimes {
  std::int64_t epoch = 0;
  std::int64_t steps = 0;
  std::int64_t samples = 0;  // of all ranks
  double seconds = 0;
  double wait_seconds = 0;  // for batches
};

struct TrainHistory {
  std::vector<TrainPoint> points;
  std::vector<EvaluationPoint> evaluations;  // the last one is the result; empty without validation data
  std::vector<EpochTimes> epochs;            // by the epochs of the batches; empty if the source has none
  std::int64_t steps = 0;                    // total, including steps before a resume
  std::int64_t samples = 0;                  // in this run, of all ranks
  double seconds = 0;
  double training_seconds = 0;  // of which without evaluations and checkpoints
  double wait_seconds = 0;
  bool reached_target = false;  // TrainPlan::target, by the last evaluation
};

// Training images that stayed on the device (resident_source.h).
struct ResidentImages {
  std::int64_t images = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;  // in which they were decoded and copied; part of the run
};

class HistoryRecorder {
 public:
  // The run starts now, or `waited_s` ago, since when it has waited for data. The clock is borrowed.
  explicit HistoryRecorder(Clock& clock, double waited_s = 0)
      : clock_(clock), start_ns_(clock.now_ns() - static_cast<std::int64_t>(1e9 * waited_s)) {
    history_.wait_seconds = waited_s;
  }

  // Since the start, and of that without pauses: evaluations and checkpoints.
  [[nodiscard]] double seconds() const { return static_cast<double>(clock_.now_ns() - start_ns_) * 1e-9; }
  [[nodiscard]] double training_seconds() const { return seconds() - paused_s_; }
  // The time since seconds() was `begin_s` was a pause.
  void pause_since(double begin_s) { paused_s_ += seconds() - begin_s; }

  // After a step with `samples` samples of all ranks in `epoch` (-1: unknown), whose batch it waited for.
  void add_step(std::int64_t epoch, std::int64_t samples, double wait_s);
  void add_point(std::int64_t step, double loss, double learning_rate);
  // `target`: TrainPlan::target.
  void add_evaluation(const EvaluationPoint& point, double target);

  // `steps` and `seconds` are still zero.
  [[nodiscard]] const TrainHistory& history() const { return history_; }
  // The whole history, after `steps` steps.
  [[nodiscard]] TrainHistory finish(std::int64_t steps);

 private:
  // At the last point of the history; seconds are those of training.
  struct Reported {
    std::int64_t samples = 0;
    double seconds = 0;
    double wait_seconds = 0;
  };

  Clock& clock_;
  std::int64_t start_ns_;
  TrainHistory history_;
  Reported reported_;
  double counted_s_ = 0;  // training_seconds() after the last step
  double paused_s_ = 0;
};

}  // namespace unstarve
