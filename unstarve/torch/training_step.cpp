#include "unstarve/torch/training_step.h"

#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "unstarve/core/error.h"
#include "unstarve/core/random.h"
#include "unstarve/torch/common/guards.h"

namespace unstarve {
namespace {

// Everything that a recorded step cannot change.
StepKey key_of(const Staging::Current& batch, bool update) {
  StepKey key{update};
  for (const torch::Tensor& tensor : {batch.pixels, batch.labels, batch.targets}) {
    key.push_back(tensor.defined());
    if (!tensor.defined()) continue;
    key.push_back(reinterpret_cast<std::intptr_t>(tensor.const_data_ptr()));
    key.push_back(static_cast<std::int64_t>(tensor.scalar_type()));
    key.insert(key.end(), tensor.sizes().begin(), tensor.sizes().end());
    key.insert(key.end(), tensor.strides().begin(), tensor.strides().end());
  }
  for (const auto& values : {batch.normalisation.mean, batch.normalisation.std}) {
    for (const float value : values) key.push_back(std::bit_cast<std::int32_t>(value));
  }
  return key;
}

// The exchange waits for the gradient of every parameter that is trained.
void require_all_gradients(const Network& network) {
  std::vector<std::string> missing;
  for (const auto& parameter : network.named_parameters())
    if (parameter.value().requires_grad() && !parameter.value().grad().defined()) missing.push_back(parameter.key());
  if (missing.empty()) return;
  throw Error(
      ErrorKind::kArgument,
      fmt::format("training: the loss does not depend on {}; with several ranks, expected that it depends on all "
                  "parameters. Call requires_grad_(False) on these",
                  fmt::join(missing, ", ")));
}

}  // namespace

TrainingStep::TrainingStep(const TrainSettings& settings, const StepParts& parts, int rank, GraphChoice graphs)
    : settings_(settings),
      parts_(parts),
      rank_(rank),
      graphs_(std::move(graphs.graphs)),
      notice_(std::move(graphs.notice)) {
  if (graphs_) forget_graphs();
}

torch::Tensor TrainingStep::run(double learning_rate, bool update, const StepPosition& position) {
  TrainingState& state = parts_.state;
  if (state.network().advance(position.share) && graphs_) forget_graphs();
  state.network().train();
  state.use_average(false);
  parts_.timer.mark(0);
  seed();
  freeze_whitening(settings_.whitening_epochs > 0 && position.epochs >= settings_.whitening_epochs);
  exchanged_ = parts_.exchange != nullptr && update;
  if (exchanged_) parts_.exchange->before_forward();
  const Staging::Current& batch = parts_.staging.current();
  if (!state.prepared()) prepare_network(batch);
  if (added_++ == 0) state.keep_buffers();
  const bool partial = update && added_ < settings_.accumulate;  // at the end of a run
  torch::Tensor loss;
  // A recorded update expects that there are no gradients yet, or those that are kept between steps.
  if (graphs_ && !partial && (settings_.accumulate > 1 || (update && !state.optimiser().has_gradients()))) {
    loss = run_recorded(batch, learning_rate, update);
  } else {
    loss = compute_gradients(batch, [&](std::size_t index) { parts_.timer.mark(index); });
    if (update)
      change_weights([&](const torch::Tensor& found_inf) { state.optimiser().step(learning_rate, found_inf); });
  }
  // Not recorded: the decays of the averages change, and a few kernels update all tensors; weights are rarely pruned.
  if (update) {
    added_ = 0;
    state.update_averages(position.share);
  }
  graphs_ ? parts_.timer.mark_end() : parts_.timer.mark(3);
  state.count_step();
  parts_.staging.used();
  return loss;
}

void TrainingStep::undo_partial_update() {
  if (std::exchange(added_, 0) == 0) return;
  parts_.state.optimiser().clear_gradients();
  parts_.state.restore_buffers();
}

// Dropout and stochastic depth draw from torch's generators. Seeded by the number of the step, so that a resumed run
// draws the same numbers, and by the rank.
void TrainingStep::seed() {
  const auto step = static_cast<std::uint64_t>(parts_.state.steps());
  torch::manual_seed(Random(settings_.seed, static_cast<std::uint32_t>(rank_), step, kNetworkStream).bits());
}

// With several ranks only the gradient is dropped: the exchange expects one for every parameter.
void TrainingStep::freeze_whitening(bool frozen) {
  torch::Tensor bias = parts_.state.network().whitening_bias();
  const bool was_frozen = std::exchange(frozen_, frozen && bias.defined());
  if (graphs_ && was_frozen != frozen_) forget_graphs();
  if (bias.defined() && parts_.exchange == nullptr) bias.set_requires_grad(!frozen);
}

// Before the first step of a run that starts without the fixed weights of its network.
void TrainingStep::prepare_network(const Staging::Current& batch) {
  const torch::NoGradGuard no_grad;
  Exchange* const exchange = parts_.exchange;
  parts_.state.network().prepare(parts_.forward.images(batch).to(torch::kFloat32),
                                 exchange != nullptr ? &exchange->sum_over_ranks() : nullptr);
  if (exchange != nullptr) exchange->send_weights();  // the ranks may compute with different rounding
  parts_.state.weights_replaced();
}

// Forward and backward pass; `mark` is called after each. Returns the loss.
template <class Mark>
torch::Tensor TrainingStep::compute_gradients(const Staging::Current& batch, const Mark& mark) {
  Network& network = parts_.state.network();
  const torch::Tensor loss = network.loss(parts_.forward.logits(batch), batch.expected(), settings_.label_smoothing);
  mark(1);
  if (exchanged_) parts_.exchange->before_backward();
  const torch::Tensor share = settings_.accumulate > 1 ? loss / settings_.accumulate : loss;
  const LossScaler* const scaler = parts_.state.scaler();
  network.backward(scaler != nullptr ? scaler->scale(share) : share);
  if (exchanged_ && !std::exchange(exchange_checked_, true)) require_all_gradients(network);
  mark(2);
  return loss.detach();
}

// `update(found_inf)` updates the weights by the gradients.
template <class Update>
void TrainingStep::change_weights(const Update& update) {
  Optimiser& optimiser = parts_.state.optimiser();
  if (frozen_) parts_.state.network().whitening_bias().mutable_grad().reset();
  LossScaler* const scaler = parts_.state.scaler();
  torch::Tensor found_inf;
  if (scaler != nullptr) found_inf = scaler->unscale(optimiser.gradients());
  // Each batch has added its share of a whole update.
  if (added_ < settings_.accumulate)
    at::_foreach_mul_(optimiser.gradients(), static_cast<double>(settings_.accumulate) / added_);
  if (settings_.clip_norm > 0) clip_gradients(optimiser.gradients(), settings_.clip_norm);
  update(found_inf);
  if (const Pruner* const pruner = parts_.state.pruner(); pruner != nullptr) pruner->apply();
  if (scaler != nullptr) scaler->update(found_inf);
  optimiser.clear_gradients();
}

torch::Tensor TrainingStep::run_recorded(const Staging::Current& batch, double learning_rate, bool update) {
  Optimiser& optimiser = parts_.state.optimiser();
  optimiser.set_rate(learning_rate);
  parts_.forward.prepare(batch);
  StepWork work;
  work.run = [this, batch, update, &optimiser] {
    const UncachedCasts uncached;
    torch::Tensor loss = compute_gradients(batch, [](std::size_t) {});
    if (update) change_weights([&](const torch::Tensor& found_inf) { optimiser.step_at_rate(found_inf); });
    return loss;
  };
  work.undo = [&] {
    if (settings_.accumulate == 1) optimiser.clear_gradients();
    seed();
  };
  work.constants = [&] { return parts_.forward.constants(); };
  return graphs_->run(key_of(batch, update), work);
}

// Steps are recorded again from now on.
void TrainingStep::forget_graphs() {
  graphs_->clear();
  if (settings_.accumulate > 1) parts_.state.optimiser().keep_gradients();
}

}  // namespace unstarve
