#include "unstarve/models/cifar_net.h"

#include <utility>

namespace unstarve {
namespace {

std::shared_ptr<ConvNorm> conv_bn_relu(const ConvShape& shape) {
  return std::make_shared<ConvNorm>(shape, Activation::kRelu);
}

NetworkPtr halve() { return std::make_shared<MaxPool>(2, 2, 0); }

// x + last(first(x)), with the names "body.0" and "body.1".
class Residual final : public Network {
 public:
  explicit Residual(int channels)
      : first_(conv_bn_relu({.in = channels, .out = channels})),
        last_(conv_bn_relu({.in = channels, .out = channels})) {
    register_module("body", std::make_shared<Chain>(std::vector<NetworkPtr>{first_, last_}));
  }
  torch::Tensor forward(torch::Tensor x) override { return last_->forward(first_->forward(x), x); }

 private:
  std::shared_ptr<ConvNorm> first_;
  std::shared_ptr<ConvNorm> last_;
};

class CifarNet final : public Network {
 public:
  explicit CifarNet(int classes)
      : features_(register_module(
            "features", std::make_shared<Chain>(std::vector<NetworkPtr>{
                            conv_bn_relu({.in = 3, .out = 32, .kernel = 4, .stride = 2}),
                            conv_bn_relu({.in = 32, .out = 64}), halve(), conv_bn_relu({.in = 64, .out = 128}),
                            std::make_shared<Residual>(128), halve(), conv_bn_relu({.in = 128, .out = 256})}))),
        fc_(register_module("fc", std::make_shared<Linear>(256, classes))) {}

  torch::Tensor forward(torch::Tensor x) override { return fc_->forward(global_max(features_->forward(std::move(x)))); }

 private:
  std::shared_ptr<Chain> features_;
  std::shared_ptr<Linear> fc_;
};

}  // namespace

NetworkPtr make_cifar_net(int classes) { return std::make_shared<CifarNet>(classes); }

}  // namespace unstarve
