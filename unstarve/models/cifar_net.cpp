#include "unstarve/models/cifar_net.h"

#include <utility>

namespace unstarve {
namespace {

NetworkPtr conv_bn_relu(const ConvShape& shape) {
  return std::make_shared<Chain>(std::vector<NetworkPtr>{
      std::make_shared<Conv>(shape), std::make_shared<BatchNorm>(shape.out), std::make_shared<Relu>()});
}

NetworkPtr halve() { return std::make_shared<MaxPool>(2, 2, 0); }

class Residual final : public Network {
 public:
  explicit Residual(const std::vector<NetworkPtr>& body)
      : body_(register_module("body", std::make_shared<Chain>(body))) {}
  torch::Tensor forward(torch::Tensor x) override { return x + body_->forward(x); }

 private:
  std::shared_ptr<Chain> body_;
};

class CifarNet final : public Network {
 public:
  explicit CifarNet(int classes)
      : features_(register_module(
            "features", std::make_shared<Chain>(std::vector<NetworkPtr>{
                            conv_bn_relu({.in = 3, .out = 32, .kernel = 4, .stride = 2}),
                            conv_bn_relu({.in = 32, .out = 64}), halve(), conv_bn_relu({.in = 64, .out = 128}),
                            std::make_shared<Residual>(std::vector<NetworkPtr>{conv_bn_relu({.in = 128, .out = 128}),
                                                                               conv_bn_relu({.in = 128, .out = 128})}),
                            halve(), conv_bn_relu({.in = 128, .out = 256})}))),
        fc_(register_module("fc", std::make_shared<Linear>(256, classes))) {}

  torch::Tensor forward(torch::Tensor x) override { return fc_->forward(global_max(features_->forward(std::move(x)))); }

 private:
  std::shared_ptr<Chain> features_;
  std::shared_ptr<Linear> fc_;
};

}  // namespace

NetworkPtr make_cifar_net(int classes) { return std::make_shared<CifarNet>(classes); }

}  // namespace unstarve
