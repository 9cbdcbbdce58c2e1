#pragma once
// Loss scaling for float16, whose gradients would otherwise vanish: the loss is multiplied, the gradients divided, and
// a step whose gradients overflowed is skipped and the scale halved. All of it stays on the device.
//
// Constants are PyTorch's: start at 2^16, double after 2,000 good steps.

#include <torch/torch.h>

namespace unstarve {

class LossScaler {
 public:
  explicit LossScaler(torch::Device device);

  [[nodiscard]] torch::Tensor scale(const torch::Tensor& loss) const { return loss * scale_; }
  // Divides the gradients in place and returns the flag for Sgd::step(): not 0 where one was infinite or not a number.
  [[nodiscard]] torch::Tensor unscale(const std::vector<torch::Tensor>& gradients);
  // After the step: adapts the scale to the flag.
  void update(const torch::Tensor& found_inf);

  // For checkpoints; shared with the scaler.
  [[nodiscard]] const torch::Tensor& scale_tensor() const { return scale_; }
  [[nodiscard]] const torch::Tensor& growth_tensor() const { return good_steps_; }

 private:
  torch::Tensor scale_;
  torch::Tensor good_steps_;
};

}  // namespace unstarve
