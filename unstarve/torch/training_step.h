#pragma once
// One training step, in the order in which it runs; recorded as a graph where that is possible (graphs/step_graphs.h).
//
//   seed ──▶ [prepare the network] ──▶ forward ──▶ backward, exchange ──▶ [unscale, clip, update, prune, averages]
//
// Ownership: borrows its parts. Threads: one at a time. Failure: exceptions of libtorch, and as StepGraphs::run().

#include <optional>
#include <string>
#include <utility>

#include <torch/types.h>

#include "unstarve/torch/forward_pass.h"
#include "unstarve/torch/graphs/step_graphs.h"
#include "unstarve/torch/ranks/exchange.h"
#include "unstarve/torch/staging.h"
#include "unstarve/torch/step_timer.h"
#include "unstarve/torch/updates/training_state.h"

namespace unstarve {

struct StepParts {
  TrainingState& state;
  ForwardPass& forward;
  Staging& staging;
  StepTimer& timer;
  Exchange* exchange;  // null: one rank
};

class TrainingStep {
 public:
  // `settings` is borrowed.
  TrainingStep(const TrainSettings& settings, const StepParts& parts, int rank, GraphChoice graphs);

  // On the current batch of the staging, as Trainer::step(). Returns the loss, which a later step may overwrite.
  [[nodiscard]] torch::Tensor run(double learning_rate, bool update, const StepPosition& position);
  // As Trainer::undo_partial_update().
  void undo_partial_update();
  // Whether the latest run() exchanged gradients.
  [[nodiscard]] bool exchanged() const { return exchanged_; }
  // As Trainer::notice().
  [[nodiscard]] std::string notice() { return graphs_ ? graphs_->notice() : std::exchange(notice_, {}); }

 private:
  void seed();
  void freeze_whitening(bool frozen);
  void prepare_network(const Staging::Current& batch);
  template <class Mark>
  torch::Tensor compute_gradients(const Staging::Current& batch, const Mark& mark);
  template <class Update>
  void change_weights(const Update& update);
  torch::Tensor run_recorded(const Staging::Current& batch, double learning_rate, bool update);
  void forget_graphs();

  const TrainSettings& settings_;
  StepParts parts_;
  int rank_;
  std::optional<StepGraphs> graphs_;
  std::string notice_;   // why there are none
  bool frozen_ = false;  // whether the bias of the whitening layer keeps its value
  bool exchanged_ = false;
  bool exchange_checked_ = false;  // all parameters have gradients
  int added_ = 0;                  // batches whose gradients the next update has
};

}  // namespace unstarve
