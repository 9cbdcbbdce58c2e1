#include "unstarve/models/mobile_layers.h"

#include <algorithm>
#include <utility>

namespace unstarve {
namespace {

ConvShape pointwise_with_bias(int in, int out) {
  ConvShape shape = pointwise(in, out);
  shape.bias = true;
  return shape;
}

class ClassifierOfMeans final : public Network {
 public:
  ClassifierOfMeans(NetworkPtr features, NetworkPtr classifier)
      : features_(register_module("features", std::move(features))),
        classifier_(register_module("classifier", std::move(classifier))) {}
  torch::Tensor forward(torch::Tensor x) override {
    return classifier_->forward(global_mean(features_->forward(std::move(x))));
  }

 private:
  NetworkPtr features_;
  NetworkPtr classifier_;
};

}  // namespace

int scaled_channels(int channels, double width) {
  constexpr int kMultiple = 8;
  const double exact = channels * width;
  const int rounded = std::max(kMultiple, static_cast<int>(exact + kMultiple / 2) / kMultiple * kMultiple);
  return rounded < 0.9 * exact ? rounded + kMultiple : rounded;
}

ConvShape pointwise(int in, int out) { return {.in = in, .out = out, .kernel = 1, .padding = 0}; }

ConvShape depthwise(int channels, int kernel, int stride) {
  return {
      .in = channels, .out = channels, .kernel = kernel, .stride = stride, .padding = kernel / 2, .groups = channels};
}

SqueezeExcitation::SqueezeExcitation(int channels, int squeezed, Form form)
    : form_(form),
      fc1_(register_module("fc1", std::make_shared<Conv>(pointwise_with_bias(channels, squeezed)))),
      fc2_(register_module("fc2", std::make_shared<Conv>(pointwise_with_bias(squeezed, channels)))) {}

torch::Tensor SqueezeExcitation::forward(torch::Tensor x) {
  torch::Tensor y = fc1_->forward(torch::adaptive_avg_pool2d(x, {1, 1}));
  y = fc2_->forward(form_ == Form::kHard ? torch::relu(y) : torch::silu(y));
  return x * (form_ == Form::kHard ? torch::hardsigmoid(y) : torch::sigmoid(y));
}

torch::Tensor StochasticDepth::forward(torch::Tensor x) {
  if (!is_training() || probability_ == 0) return x;
  const double kept = 1 - probability_;
  return x * torch::empty({x.size(0), 1, 1, 1}, x.options()).bernoulli_(kept).div_(kept);
}

NetworkPtr classifier_of_means(NetworkPtr features, NetworkPtr classifier) {
  return std::make_shared<ClassifierOfMeans>(std::move(features), std::move(classifier));
}

}  // namespace unstarve
