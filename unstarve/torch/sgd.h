#pragma once
// Stochastic gradient descent with Nesterov momentum and weight decay, on weights in float32.
//
//   g <- g + decay * w        v <- momentum * v + g        w <- w - rate * (g + momentum * v)
//
// Decay applies to every parameter including batch norm, as PyTorch does by default. `fused` updates all parameters in
// one kernel; otherwise there is one update per parameter, in PyTorch's order of operations. Both agree up to rounding.
// Ownership: shares the parameters with their network, owns the momentum.

#include <vector>

#include <torch/torch.h>

namespace unstarve {

struct SgdOptions {
  double momentum = 0.9;
  double weight_decay = 0;
  bool fused = false;
};

class Sgd {
 public:
  Sgd(std::vector<torch::Tensor> parameters, const SgdOptions& options);

  // One update of all parameters with a gradient. `found_inf`, if defined, is a device flag of one float: if it is not
  // 0, nothing changes. The fused form reads it on the device, the other form waits for it.
  void step(double learning_rate, const torch::Tensor& found_inf = {});
  // Drops all gradients.
  void clear_gradients();

  [[nodiscard]] const std::vector<torch::Tensor>& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<torch::Tensor>& momentum() const { return momentum_; }
  [[nodiscard]] std::vector<torch::Tensor> gradients() const;  // the defined ones

 private:
  void step_each(double learning_rate);
  void step_fused(double learning_rate, const torch::Tensor& found_inf);

  std::vector<torch::Tensor> parameters_;
  std::vector<torch::Tensor> momentum_;
  SgdOptions options_;
};

}  // namespace unstarve
