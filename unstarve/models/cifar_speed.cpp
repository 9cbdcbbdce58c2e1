// The network of airbench94 for 32-pixel images (Jordan, "94% on CIFAR-10 in 3.29 seconds on a single GPU",
// arXiv:2404.00498; https://github.com/KellerJordan/cifar10-airbench, legacy/airbench94.py).
//
//   whitening 3 -> 24, 2x2        31 x 31   (whitening.h), GELU
//   groups.0  24 -> 64            15 x 15
//   groups.1  64 -> 256            7 x 7
//   groups.2  256 -> 256           3 x 3
//   maximum over positions, linear without bias, times 1/9
//
// A group: 3x3 convolution, 2x2 max pool, batch norm, GELU, 3x3 convolution, batch norm, GELU. Batch norms train only
// their bias. Convolutions start with copies of their inputs (ConvStart::kDirac). 118 million multiply-adds per image,
// 1.97 million parameters.
//
// Before training it requires Network::prepare().

#include <utility>

#include "unstarve/models/networks.h"
#include "unstarve/models/whitening.h"

namespace unstarve {
namespace {

constexpr BatchNormRule kBiasOnly{.momentum = 0.4, .epsilon = 1e-12, .scale = false};
constexpr double kLogitScale = 1.0 / 9;

std::shared_ptr<Conv> copying_conv(int in, int out) {
  return std::make_shared<Conv>(ConvShape{.in = in, .out = out, .start = ConvStart::kDirac});
}

class ConvGroup final : public Network {
 public:
  ConvGroup(int in, int out)
      : conv1_(register_module("conv1", copying_conv(in, out))),
        norm1_(register_module("norm1", std::make_shared<BatchNorm>(out, kBiasOnly))),
        conv2_(register_module("conv2", copying_conv(out, out))),
        norm2_(register_module("norm2", std::make_shared<BatchNorm>(out, kBiasOnly))) {}

  torch::Tensor forward(torch::Tensor x) override {
    x = torch::max_pool2d(conv1_->forward(std::move(x)), {2, 2});
    x = norm1_->forward(x, {Activation::kGelu});
    return norm2_->forward(conv2_->forward(std::move(x)), {Activation::kGelu});
  }

 private:
  std::shared_ptr<Conv> conv1_;
  std::shared_ptr<BatchNorm> norm1_;
  std::shared_ptr<Conv> conv2_;
  std::shared_ptr<BatchNorm> norm2_;
};

class CifarSpeed final : public Network {
 public:
  explicit CifarSpeed(int classes)
      : whitening_(register_module("whitening", std::make_shared<Whitening>())),
        groups_(register_module(
            "groups", std::make_shared<Chain>(std::vector<NetworkPtr>{
                          std::make_shared<ConvGroup>(Whitening::kChannels, 64), std::make_shared<ConvGroup>(64, 256),
                          std::make_shared<ConvGroup>(256, 256)}))),
        fc_(register_module("fc", std::make_shared<Linear>(256, classes, LinearStart::kNoBias))) {}

  torch::Tensor forward(torch::Tensor x) override {
    x = torch::gelu(whitening_->forward(std::move(x)));
    return fc_->forward(global_max(groups_->forward(std::move(x)))) * kLogitScale;
  }
  void prepare(const torch::Tensor& images, const SumOverRanks* sum) override { whitening_->prepare(images, sum); }
  [[nodiscard]] bool prepared() const override { return whitening_->prepared(); }
  [[nodiscard]] torch::Tensor whitening_bias() const override { return whitening_->whitening_bias(); }

 private:
  std::shared_ptr<Whitening> whitening_;
  std::shared_ptr<Chain> groups_;
  std::shared_ptr<Linear> fc_;
};

}  // namespace

NetworkPtr make_cifar_speed(int classes) { return std::make_shared<CifarSpeed>(classes); }

}  // namespace unstarve
