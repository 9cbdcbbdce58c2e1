#pragma once
// The history of a training run for TensorBoard: scalars while it runs, and charts of the curves at its end.
//
//   train/loss, train/learning_rate, train/samples_per_s, train/data_wait     per point
//   val/accuracy, val/loss                                                    per evaluation
//   charts/train_loss, charts/learning_rate, charts/data_wait, charts/val_accuracy     images
//
// Threads: one at a time.
// Failure: of the constructor as EventFile. Later, an event that cannot be written is a notice, after which none is
//          written, so that the training continues.

#include "unstarve/jobs/tensorboard/event_file.h"
#include "unstarve/train/loop.h"

namespace unstarve {

class TrainingEvents {
 public:
  // `first_step`: TrainPlan::start_step.
  TrainingEvents(const std::filesystem::path& folder, std::int64_t first_step) : file_(folder, first_step) {}

  // Writes what was added to `history` since the last call.
  void update(const TrainHistory& history);
  // Writes the rest and the charts.
  void finish(const TrainHistory& history);
  // The same for a run that ends early, from what update() received.
  void finish_early();

 private:
  template <class Write>
  void attempt(Write&& write);
  void write_points(const TrainHistory& history);
  void write_charts(const TrainHistory& history);

  EventFile file_;
  bool failed_ = false;
  TrainHistory latest_;
  std::size_t points_ = 0;  // written
  std::size_t evaluations_ = 0;
};

}  // namespace unstarve
