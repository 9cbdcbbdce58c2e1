#include <array>

#include "unstarve/models/mobile_layers.h"
#include "unstarve/models/mobilenet.h"

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

NetworkPtr separable_block(int in, int out, int stride) {
  return std::make_shared<Chain>(std::vector<NetworkPtr>{
      std::make_shared<Conv>(depthwise(in, 3, stride)), std::make_shared<BatchNorm>(in), std::make_shared<Relu>(),
      std::make_shared<Conv>(pointwise(in, out)), std::make_shared<BatchNorm>(out), std::make_shared<Relu>()});
}

}  // namespace

NetworkPtr make_mobilenet_v1(int classes, double width) {
  int in = scaled_channels(32, width);
  auto features = std::make_shared<Chain>();
  features->add(conv_norm({.in = 3, .out = in, .stride = 2}, Activation::kRelu));
  for (const SeparableBlock& block : kSeparableBlocks) {
    const int out = scaled_channels(block.channels, width);
    features->add(separable_block(in, out, block.stride));
    in = out;
  }
  return classifier_of_means(features, std::make_shared<Linear>(in, classes, LinearStart::kNormal));
}

}  // namespace unstarve
