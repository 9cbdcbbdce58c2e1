#pragma once
// Loss scaling for float16, whose gradients would otherwise underflow. The loss is multiplied by a scale and the
// gradients are divided by it. If gradients overflow, the step is skipped and the scale is halved. Everything stays on
// the device.
//
// Constants as in PyTorch: initial scale 2^16, doubled after 2,000 good steps.

#include <torch/types.h>

namespace unstarve {

class LossScaler {
 public:
  explicit LossScaler(torch::Device device);

  [[nodiscard]] torch::Tensor scale(const torch::Tensor& loss) const { return loss * scale_; }
  // Divides the gradients in place and returns the flag for Optimiser::step(): not 0 if any gradient was infinite or
  // NaN.
  [[nodiscard]] torch::Tensor unscale(const std::vector<torch::Tensor>& gradients);
  // Adapts the scale to the flag after the step.
  void update(const torch::Tensor& found_inf);
  // As after construction, in the same memory.
  void reset();

  // For checkpoints; shared with the scaler.
  [[nodiscard]] const torch::Tensor& scale_tensor() const { return scale_; }
  [[nodiscard]] const torch::Tensor& growth_tensor() const { return good_steps_; }

 private:
  torch::Tensor scale_;
  torch::Tensor good_steps_;
};

}  // namespace unstarve
