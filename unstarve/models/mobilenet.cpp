#include "unstarve/models/mobilenet.h"

#include <array>
#include <utility>

namespace unstarve {
namespace {

NetworkPtr conv_bn_relu6(const ConvShape& shape) {
  return std::make_shared<Chain>(std::vector<NetworkPtr>{
      std::make_shared<Conv>(shape), std::make_shared<BatchNorm>(shape.out), std::make_shared<Relu6>()});
}

ConvShape pointwise(int in, int out) { return {.in = in, .out = out, .kernel = 1, .padding = 0}; }

// 1x1 expansion, depthwise 3x3 convolution, 1x1 projection without activation; with a shortcut if the shapes match.
class InvertedResidual final : public Network {
 public:
  InvertedResidual(int in, int out, int stride, int expansion) : shortcut_(stride == 1 && in == out) {
    const int hidden = in * expansion;
    auto conv = std::make_shared<Chain>();
    if (expansion != 1) conv->add(conv_bn_relu6(pointwise(in, hidden)));
    conv->add(conv_bn_relu6({.in = hidden, .out = hidden, .stride = stride, .groups = hidden}));
    conv->add(std::make_shared<Conv>(pointwise(hidden, out)));
    conv->add(std::make_shared<BatchNorm>(out));
    conv_ = register_module("conv", conv);
  }

  torch::Tensor forward(torch::Tensor x) override { return shortcut_ ? x + conv_->forward(x) : conv_->forward(x); }

 private:
  bool shortcut_;
  std::shared_ptr<Chain> conv_;
};

// Table 2 of the paper.
struct Stage {
  int expansion;
  int channels;
  int blocks;
  int stride;
};
constexpr std::array<Stage, 7> kStages{
    {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}};
constexpr int kStemChannels = 32;
constexpr int kLastChannels = 1280;

class MobilenetV2 final : public Network {
 public:
  explicit MobilenetV2(int classes) {
    auto features = std::make_shared<Chain>();
    features->add(conv_bn_relu6({.in = 3, .out = kStemChannels, .stride = 2}));
    int in = kStemChannels;
    for (const Stage& stage : kStages) {
      for (int i = 0; i < stage.blocks; ++i) {
        const int stride = i == 0 ? stage.stride : 1;
        features->add(std::make_shared<InvertedResidual>(in, stage.channels, stride, stage.expansion));
        in = stage.channels;
      }
    }
    features->add(conv_bn_relu6(pointwise(in, kLastChannels)));
    features_ = register_module("features", features);
    classifier_ = register_module(
        "classifier", std::make_shared<Chain>(std::vector<NetworkPtr>{
                          std::make_shared<Dropout>(0.2), std::make_shared<Linear>(kLastChannels, classes, 0.01)}));
  }

  torch::Tensor forward(torch::Tensor x) override {
    return classifier_->forward(global_mean(features_->forward(std::move(x))));
  }

 private:
  std::shared_ptr<Chain> features_;
  std::shared_ptr<Chain> classifier_;
};

}  // namespace

NetworkPtr make_mobilenet_v2(int classes) { return std::make_shared<MobilenetV2>(classes); }

}  // namespace unstarve
