#pragma once
// Layers and rules that the MobileNets and EfficientNet share, with torchvision's parameter names.

#include "unstarve/models/layers.h"

namespace unstarve {

// `channels * width`, rounded to a multiple of 8 that is at least 8 and at least 90 % of the product (torchvision's
// _make_divisible).
[[nodiscard]] int scaled_channels(int channels, double width);

[[nodiscard]] ConvShape pointwise(int in, int out);
// One filter per channel. `kernel` is odd; the output has the size of the input, divided by the stride.
[[nodiscard]] ConvShape depthwise(int channels, int kernel, int stride);

// Multiplies each channel by a factor from 0 to 1, computed from the means of all channels (Hu et al.,
// arXiv:1709.01507): the convolution "fc1" to `squeezed` channels, an activation, the convolution "fc2", a sigmoid.
class SqueezeExcitation final : public Network {
 public:
  enum class Form {
    kHard,    // ReLU and hard sigmoid: MobileNetV3
    kSmooth,  // SiLU and sigmoid: EfficientNet
  };
  SqueezeExcitation(int channels, int squeezed, Form form);
  torch::Tensor forward(torch::Tensor x) override;

 private:
  Form form_;
  std::shared_ptr<Conv> fc1_;
  std::shared_ptr<Conv> fc2_;
};

// For the branch next to a shortcut (Huang et al., arXiv:1603.09382). In training, replaces each sample by zeros with
// this probability and divides the others by the probability that they are kept. Draws from the device's generator.
class StochasticDepth final : public Network {
 public:
  // Precondition: 0 <= probability < 1.
  explicit StochasticDepth(double probability) : probability_(probability) {}
  torch::Tensor forward(torch::Tensor x) override;

 private:
  double probability_;
};

// A network of "features", the mean over all positions, and "classifier".
[[nodiscard]] NetworkPtr classifier_of_means(NetworkPtr features, NetworkPtr classifier);

}  // namespace unstarve
