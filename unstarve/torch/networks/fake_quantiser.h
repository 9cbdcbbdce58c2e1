#pragma once
// Fake quantisation: weights and activations are rounded to what int8 represents of them, in float32, so that a network
// learns to compute with such values (Jacob et al., arXiv:1712.05877).
//
//   weights      scale = largest magnitude of the output channel / 127     levels -127..127
//   activations  scale = limit / 255, or / 127 if they can be negative     levels 0..255 or -127..127
//
// The limit of an activation is an exponential moving average over the batches of the largest magnitude. Rounding has
// the gradient 1, and values beyond the limit have none (straight-through estimator).
//
// State:   "limits", one for each activation, 0 before the first batch; means over all ranks with synchronise().
// Threads: one at a time. Cost: two passes over each activation, in float32.

#include <cstddef>
#include <vector>

#include <torch/nn/module.h>
#include <torch/types.h>

#include "unstarve/infer/int8/quantise.h"
#include "unstarve/models/kernels/synchronised_batch_norm.h"

namespace unstarve {

class FakeQuantiser final : public torch::nn::Module {
 public:
  // The share of a batch in the limits.
  static constexpr double kBatchShare = 0.05;

  explicit FakeQuantiser(std::vector<infer::QuantisationPlan::Activation> activations);

  // `sum` is borrowed. All ranks then call end_pass() at the same time.
  void synchronise(const SumOverRanks* sum) { sum_over_ranks_ = sum; }
  // False before the first observed batch. Waits for the device.
  [[nodiscard]] bool observed() const { return limits_.any().item<bool>(); }

  // Around a forward pass. `observe`: the pass changes the limits, at its end. `round`: values are rounded, by the
  // limits at its beginning; otherwise activation() returns undefined tensors.
  void begin_pass(bool observe, bool round);
  void end_pass();
  // Activation `index` of the plan. Each is called once per pass.
  [[nodiscard]] torch::Tensor activation(std::size_t index, const torch::Tensor& x);
  [[nodiscard]] torch::Tensor weights(const torch::Tensor& weights, std::int64_t channel_axis) const;

 private:
  const std::vector<infer::QuantisationPlan::Activation> activations_;
  torch::Tensor limits_, levels_;
  torch::Tensor zero_point_;           // 0
  std::vector<torch::Tensor> scales_;  // of the pass, by activation
  std::vector<torch::Tensor> largest_;
  const SumOverRanks* sum_over_ranks_ = nullptr;
  bool observe_ = false, round_ = false;
};

}  // namespace unstarve
