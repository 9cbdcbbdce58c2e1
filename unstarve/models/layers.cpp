#include "unstarve/models/layers.h"

#include <torch/nn/init.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/models/kernel_search.h"
#include "unstarve/models/kernels/winograd_convolution.h"

namespace unstarve {
namespace {

torch::Tensor start_weight(const ConvShape& shape) {
  const int inputs = shape.in / shape.groups;
  torch::Tensor weight = torch::empty({shape.out, inputs, shape.kernel, shape.kernel});
  if (shape.start == ConvStart::kFanOut) {
    const double fan_out = static_cast<double>(shape.out) * shape.kernel * shape.kernel;
    return weight.normal_(0, std::sqrt(2 / fan_out));
  }
  const double bound = 1 / std::sqrt(static_cast<double>(inputs) * shape.kernel * shape.kernel);
  weight.uniform_(-bound, bound);
  torch::nn::init::dirac_(weight.narrow(0, 0, std::min(inputs, shape.out)));
  return weight;
}

}  // namespace

torch::Tensor Network::loss(const torch::Tensor& logits, const torch::Tensor& labels, double label_smoothing) {
  return torch::cross_entropy_loss(logits, labels, /*weight=*/{}, at::Reduction::Mean, /*ignore_index=*/-100,
                                   label_smoothing);
}

Chain::Chain(const std::vector<NetworkPtr>& children) {
  for (const NetworkPtr& child : children) add(child);
}

void Chain::add(NetworkPtr child) {
  register_module(std::to_string(children_.size()), child);
  children_.push_back(std::move(child));
}

torch::Tensor Chain::forward(torch::Tensor x) {
  for (const NetworkPtr& child : children_) x = child->forward(std::move(x));
  return x;
}

Conv::Conv(const ConvShape& shape) : shape_(shape) {
  weight_ = register_parameter("weight", start_weight(shape));
  if (shape.bias) bias_ = register_parameter("bias", torch::zeros({shape.out}));
}

torch::Tensor Conv::forward(torch::Tensor x) {
  const bool same = shape_.stride == 1 && shape_.padding == 1 && shape_.groups == 1 && !shape_.bias;
  torch::Tensor y = winograd_ && same && winograd_pays(x, weight_)
                        ? winograd_convolution(x, weight_)
                        : torch::conv2d(x, weight_, bias_, {shape_.stride, shape_.stride},
                                        {shape_.padding, shape_.padding}, {1, 1}, shape_.groups);
  macs_ = static_cast<double>(y.size(2) * y.size(3)) * static_cast<double>(weight_.numel());
  input_height_ = static_cast<int>(x.size(2));
  return y;
}

BatchNorm::BatchNorm(int channels, const BatchNormRule& rule)
    : weight_(rule.scale ? register_parameter("weight", torch::ones({channels}))
                         : register_buffer("weight", torch::ones({channels}))),
      bias_(register_parameter("bias", torch::zeros({channels}))),
      running_mean_(register_buffer("running_mean", torch::zeros({channels}))),
      running_var_(register_buffer("running_var", torch::ones({channels}))),
      num_batches_tracked_(register_buffer("num_batches_tracked", torch::zeros({}, torch::kInt64))),
      rule_(rule) {}

torch::Tensor BatchNorm::forward(const torch::Tensor& x, const AfterNorm& after) {
  const BatchNormState state{weight_, bias_, running_mean_, running_var_, rule_.momentum, rule_.epsilon};
  if (!is_training()) {
    return apply_after_norm(after, torch::batch_norm(x, weight_, bias_, running_mean_, running_var_, /*training=*/false,
                                                     state.momentum, state.epsilon, /*cudnn_enabled=*/true));
  }
  // The ranks together have at least two.
  if (sum_over_ranks_ == nullptr && x.numel() == x.size(1))  // the unbiased variance is 0 / 0
    throw Error(ErrorKind::kInput,
                "batch norm: found one value per channel; expected at least two to train with. Use larger images or "
                "batches, or batch.last: drop");
  // Counted as in the Python module, so that checkpoints are compatible in both directions.
  num_batches_tracked_.add_(1);
  if (sum_over_ranks_ != nullptr) return apply_after_norm(after, synchronised_batch_norm(x, state, *sum_over_ranks_));
  return fused_ ? fused_batch_norm(x, state, after) : separate_batch_norm(x, state, after);
}

ConvNorm::ConvNorm(const ConvShape& shape, Activation activation, const BatchNormRule& rule)
    : conv_(register_module("0", std::make_shared<Conv>(shape))),
      norm_(register_module("1", std::make_shared<BatchNorm>(shape.out, rule))),
      activation_(activation) {}

torch::Tensor ConvNorm::forward(const torch::Tensor& x, const torch::Tensor& residual) {
  return norm_->forward(conv_->forward(x), {.activation = activation_, .outer = residual});
}

Linear::Linear(int in, int out, LinearStart start) {
  torch::Tensor weight = torch::empty({out, in});
  torch::Tensor bias = torch::zeros({out});
  if (start == LinearStart::kNormal) {
    weight.normal_(0, 0.01);
  } else {
    const double bound = 1 / std::sqrt(static_cast<double>(start == LinearStart::kFanOut ? out : in));
    weight.uniform_(-bound, bound);
    if (start == LinearStart::kFanIn) bias.uniform_(-bound, bound);
  }
  weight_ = register_parameter("weight", weight);
  if (start != LinearStart::kNoBias) bias_ = register_parameter("bias", bias);
}

torch::Tensor Linear::forward(torch::Tensor x) {
  macs_ = static_cast<double>(weight_.numel());
  return torch::linear(x, weight_, bias_);
}

torch::Tensor global_mean(const torch::Tensor& x) { return torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1); }

torch::Tensor global_max(const torch::Tensor& x) {
  return std::get<0>(torch::adaptive_max_pool2d(x, {1, 1})).flatten(1);
}

double count_macs(Network& network, int image_size) {
  const torch::NoGradGuard no_grad;
  const bool training = network.is_training();
  const auto parameters = network.parameters();
  const auto options = parameters.empty() ? torch::TensorOptions() : parameters[0].options().requires_grad(false);
  network.eval();
  {
    const WithoutKernelSearch chosen;
    (void)network.forward(torch::zeros({1, 3, image_size, image_size}, options));
  }
  network.train(training);

  double macs = network.own_macs();
  if (macs > 0) return macs;  // a single layer, or a network that counts all of its layers
  for (const auto& module : network.modules(/*include_self=*/false)) {
    if (const auto* layer = dynamic_cast<const Network*>(module.get())) macs += layer->own_macs();
  }
  return macs;
}

std::string head_of(const Network& network) {
  std::string name = network.head();
  if (!name.empty()) return name;
  for (const auto& module : network.named_modules()) {
    if (dynamic_cast<const Linear*>(module.value().get()) != nullptr) name = module.key() + ".";
  }
  return name;
}

std::int64_t count_parameters(const Network& network) {
  std::int64_t count = 0;
  for (const torch::Tensor& parameter : network.parameters()) count += parameter.numel();
  return count;
}

}  // namespace unstarve
