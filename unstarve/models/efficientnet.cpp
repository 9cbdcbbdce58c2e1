#include <algorithm>
#include <array>

#include "unstarve/models/mobile_layers.h"
#include "unstarve/models/networks.h"

namespace unstarve {
namespace {

// Stages 2 to 8 of table 1 of the paper.
struct MbConvStage {
  int expansion;
  int kernel;
  int stride;
  int channels;
  int blocks;
};
constexpr std::array<MbConvStage, 7> kMbConvStages{{{1, 3, 1, 16, 1},
                                                    {6, 3, 2, 24, 2},
                                                    {6, 5, 2, 40, 2},
                                                    {6, 3, 2, 80, 3},
                                                    {6, 5, 1, 112, 3},
                                                    {6, 5, 2, 192, 4},
                                                    {6, 3, 1, 320, 1}}};
constexpr double kDropProbability = 0.2;  // reached after the last block

struct MbConvShape {
  int in;
  int out;
  int expansion;
  int kernel;
  int stride;
};

// 1x1 expansion, depthwise convolution, squeeze-and-excitation, 1x1 projection without activation; with a shortcut and
// stochastic depth if the shapes match.
class MbConv final : public Network {
 public:
  MbConv(const MbConvShape& shape, double drop_probability) : shortcut_(shape.stride == 1 && shape.in == shape.out) {
    const int expanded = scaled_channels(shape.in, shape.expansion);
    auto chain = std::make_shared<Chain>();
    if (expanded != shape.in) chain->add(std::make_shared<ConvNorm>(pointwise(shape.in, expanded), Activation::kSilu));
    chain->add(std::make_shared<ConvNorm>(depthwise(expanded, shape.kernel, shape.stride), Activation::kSilu));
    chain->add(
        std::make_shared<SqueezeExcitation>(expanded, std::max(1, shape.in / 4), SqueezeExcitation::Form::kSmooth));
    chain->add(std::make_shared<ConvNorm>(pointwise(expanded, shape.out), Activation::kNone));
    block_ = register_module("block", chain);
    stochastic_depth_ = register_module("stochastic_depth", std::make_shared<StochasticDepth>(drop_probability));
  }

  torch::Tensor forward(torch::Tensor x) override {
    torch::Tensor y = block_->forward(x);
    return shortcut_ ? stochastic_depth_->forward(y).add_(x) : y;
  }

 private:
  bool shortcut_;
  std::shared_ptr<Chain> block_;
  std::shared_ptr<StochasticDepth> stochastic_depth_;
};

}  // namespace

NetworkPtr make_efficientnet_b0(int classes, double width) {
  int in = scaled_channels(32, width);
  auto features = std::make_shared<Chain>();
  features->add(std::make_shared<ConvNorm>(ConvShape{.in = 3, .out = in, .stride = 2}, Activation::kSilu));
  int total = 0, done = 0;  // blocks
  for (const MbConvStage& stage : kMbConvStages) total += stage.blocks;
  for (const MbConvStage& stage : kMbConvStages) {
    auto chain = std::make_shared<Chain>();
    const int out = scaled_channels(stage.channels, width);
    for (int i = 0; i < stage.blocks; ++i) {
      const MbConvShape shape{in, out, stage.expansion, stage.kernel, i == 0 ? stage.stride : 1};
      chain->add(std::make_shared<MbConv>(shape, kDropProbability * done / total));
      in = out;
      ++done;
    }
    features->add(chain);
  }
  features->add(std::make_shared<ConvNorm>(pointwise(in, 4 * in), Activation::kSilu));
  return classifier_of_means(
      features, std::make_shared<Chain>(std::vector<NetworkPtr>{
                    std::make_shared<Dropout>(0.2), std::make_shared<Linear>(4 * in, classes, LinearStart::kFanOut)}));
}

}  // namespace unstarve
