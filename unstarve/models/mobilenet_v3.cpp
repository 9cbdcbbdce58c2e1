#include <array>
#include <span>

#include "unstarve/models/mobile_layers.h"
#include "unstarve/models/networks.h"

namespace unstarve {
namespace {

constexpr BatchNormRule kSlowNorm{.momentum = 0.01, .epsilon = 0.001};

// A row of tables 1 and 2 of the paper.
struct ExpandedBlock {
  int kernel;
  int expanded;
  int out;
  bool squeeze;  // with squeeze-and-excitation
  Activation activation;
  int stride;
};
constexpr Activation kRe = Activation::kRelu, kHs = Activation::kHardswish;
constexpr std::array<ExpandedBlock, 15> kLargeBlocks{{{3, 16, 16, false, kRe, 1},
                                                      {3, 64, 24, false, kRe, 2},
                                                      {3, 72, 24, false, kRe, 1},
                                                      {5, 72, 40, true, kRe, 2},
                                                      {5, 120, 40, true, kRe, 1},
                                                      {5, 120, 40, true, kRe, 1},
                                                      {3, 240, 80, false, kHs, 2},
                                                      {3, 200, 80, false, kHs, 1},
                                                      {3, 184, 80, false, kHs, 1},
                                                      {3, 184, 80, false, kHs, 1},
                                                      {3, 480, 112, true, kHs, 1},
                                                      {3, 672, 112, true, kHs, 1},
                                                      {5, 672, 160, true, kHs, 2},
                                                      {5, 960, 160, true, kHs, 1},
                                                      {5, 960, 160, true, kHs, 1}}};
constexpr std::array<ExpandedBlock, 11> kSmallBlocks{{{3, 16, 16, true, kRe, 2},
                                                      {3, 72, 24, false, kRe, 2},
                                                      {3, 88, 24, false, kRe, 1},
                                                      {5, 96, 40, true, kHs, 2},
                                                      {5, 240, 40, true, kHs, 1},
                                                      {5, 240, 40, true, kHs, 1},
                                                      {5, 120, 48, true, kHs, 1},
                                                      {5, 144, 48, true, kHs, 1},
                                                      {5, 288, 96, true, kHs, 2},
                                                      {5, 576, 96, true, kHs, 1},
                                                      {5, 576, 96, true, kHs, 1}}};

// 1x1 expansion, depthwise convolution, squeeze-and-excitation, 1x1 projection without activation; with a shortcut if
// the shapes match. `block` has the channels after the width multiplier.
class InvertedResidual final : public Network {
 public:
  InvertedResidual(int in, const ExpandedBlock& block) : shortcut_(block.stride == 1 && in == block.out) {
    const auto& [kernel, expanded, out, squeeze, activation, stride] = block;
    auto chain = std::make_shared<Chain>();
    if (expanded != in) chain->add(std::make_shared<ConvNorm>(pointwise(in, expanded), activation, kSlowNorm));
    chain->add(std::make_shared<ConvNorm>(depthwise(expanded, kernel, stride), activation, kSlowNorm));
    if (squeeze) {
      chain->add(std::make_shared<SqueezeExcitation>(expanded, scaled_channels(expanded / 4, 1),
                                                     SqueezeExcitation::Form::kHard));
    }
    chain->add(std::make_shared<ConvNorm>(pointwise(expanded, out), Activation::kNone, kSlowNorm));
    block_ = register_module("block", chain);
  }

  torch::Tensor forward(torch::Tensor x) override {
    torch::Tensor y = block_->forward(x);
    return shortcut_ ? y.add_(x) : y;
  }

 private:
  bool shortcut_;
  std::shared_ptr<Chain> block_;
};

NetworkPtr make_mobilenet_v3(std::span<const ExpandedBlock> blocks, int hidden, int classes, double width) {
  int in = scaled_channels(16, width);
  auto features = std::make_shared<Chain>();
  features->add(
      std::make_shared<ConvNorm>(ConvShape{.in = 3, .out = in, .stride = 2}, Activation::kHardswish, kSlowNorm));
  for (ExpandedBlock block : blocks) {
    block.expanded = scaled_channels(block.expanded, width);
    block.out = scaled_channels(block.out, width);
    features->add(std::make_shared<InvertedResidual>(in, block));
    in = block.out;
  }
  features->add(std::make_shared<ConvNorm>(pointwise(in, 6 * in), Activation::kHardswish, kSlowNorm));
  const int last = scaled_channels(hidden, width);
  return classifier_of_means(
      features, std::make_shared<Chain>(std::vector<NetworkPtr>{
                    std::make_shared<Linear>(6 * in, last, LinearStart::kNormal), std::make_shared<Hardswish>(),
                    std::make_shared<Dropout>(0.2), std::make_shared<Linear>(last, classes, LinearStart::kNormal)}));
}

}  // namespace

NetworkPtr make_mobilenet_v3_large(int classes, double width) {
  return make_mobilenet_v3(kLargeBlocks, 1280, classes, width);
}

NetworkPtr make_mobilenet_v3_small(int classes, double width) {
  return make_mobilenet_v3(kSmallBlocks, 1024, classes, width);
}

}  // namespace unstarve
