// MobileNetV1 (arXiv:1704.04861), which torchvision does not have. Its layout:
//
//   features.0.{0,1}   stem: 3x3 convolution, batch norm
//   features.N.{0,1}   block N = 1..13: depthwise 3x3 convolution, batch norm
//   features.N.{3,4}   1x1 convolution, batch norm; children 2 and 5 are ReLU
//   classifier         linear layer

#include <array>

#include "unstarve/models/mobile_layers.h"
#include "unstarve/models/networks.h"

namespace unstarve {
namespace {

// Table 1 of the paper: the output of each block and the stride of its depthwise convolution.
struct SeparableBlock {
  int channels;
  int stride;
};
constexpr std::array<SeparableBlock, 13> kSeparableBlocks{{{64, 1},
                                                           {128, 2},
                                                           {128, 1},
                                                           {256, 2},
                                                           {256, 1},
                                                           {512, 2},
                                                           {512, 1},
                                                           {512, 1},
                                                           {512, 1},
                                                           {512, 1},
                                                           {512, 1},
                                                           {1024, 2},
                                                           {1024, 1}}};

// A depthwise and a 1x1 convolution, each with batch norm and ReLU; with the names of a chain of these six layers.
class Separable final : public Network {
 public:
  Separable(int in, int out, int stride)
      : depthwise_(register_module("0", std::make_shared<Conv>(depthwise(in, 3, stride)))),
        depthwise_norm_(register_module("1", std::make_shared<BatchNorm>(in))),
        pointwise_(register_module("3", std::make_shared<Conv>(pointwise(in, out)))),
        pointwise_norm_(register_module("4", std::make_shared<BatchNorm>(out))) {}

  torch::Tensor forward(torch::Tensor x) override {
    x = depthwise_norm_->forward(depthwise_->forward(std::move(x)), {Activation::kRelu});
    return pointwise_norm_->forward(pointwise_->forward(std::move(x)), {Activation::kRelu});
  }

 private:
  std::shared_ptr<Conv> depthwise_;
  std::shared_ptr<BatchNorm> depthwise_norm_;
  std::shared_ptr<Conv> pointwise_;
  std::shared_ptr<BatchNorm> pointwise_norm_;
};

}  // namespace

NetworkPtr make_mobilenet_v1(int classes, double width) {
  int in = scaled_channels(32, width);
  auto features = std::make_shared<Chain>();
  features->add(std::make_shared<ConvNorm>(ConvShape{.in = 3, .out = in, .stride = 2}, Activation::kRelu));
  for (const SeparableBlock& block : kSeparableBlocks) {
    const int out = scaled_channels(block.channels, width);
    features->add(std::make_shared<Separable>(in, out, block.stride));
    in = out;
  }
  return classifier_of_means(features, std::make_shared<Linear>(in, classes, LinearStart::kNormal));
}

}  // namespace unstarve
