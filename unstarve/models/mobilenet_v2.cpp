#include <algorithm>
#include <array>

#include "unstarve/models/mobile_layers.h"
#include "unstarve/models/networks.h"

namespace unstarve {
namespace {

// 1x1 expansion, depthwise 3x3 convolution, 1x1 projection without activation; with a shortcut if the shapes match.
class LinearBottleneck final : public Network {
 public:
  LinearBottleneck(int in, int out, int stride, int expansion)
      : shortcut_(stride == 1 && in == out), norm_(std::make_shared<BatchNorm>(out)) {
    const int hidden = in * expansion;
    if (expansion != 1) layers_.push_back(std::make_shared<ConvNorm>(pointwise(in, hidden), Activation::kRelu6));
    layers_.push_back(std::make_shared<ConvNorm>(depthwise(hidden, 3, stride), Activation::kRelu6));
    layers_.push_back(std::make_shared<Conv>(pointwise(hidden, out)));
    auto conv = std::make_shared<Chain>(layers_);
    conv->add(norm_);
    register_module("conv", conv);
  }

  torch::Tensor forward(torch::Tensor x) override {
    torch::Tensor y = x;
    for (const NetworkPtr& layer : layers_) y = layer->forward(std::move(y));
    return norm_->forward(y, {.outer = shortcut_ ? x : torch::Tensor()});
  }

 private:
  bool shortcut_;
  std::vector<NetworkPtr> layers_;
  std::shared_ptr<BatchNorm> norm_;
};

// Table 2 of the paper.
struct LinearBottleneckStage {
  int expansion;
  int channels;
  int blocks;
  int stride;
};
constexpr std::array<LinearBottleneckStage, 7> kLinearBottleneckStages{
    {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}};

NetworkPtr make_network(int classes, double width, bool small_images) {
  int in = scaled_channels(32, width);
  auto features = std::make_shared<Chain>();
  const int stem_stride = small_images ? 1 : 2;
  features->add(std::make_shared<ConvNorm>(ConvShape{.in = 3, .out = in, .stride = stem_stride}, Activation::kRelu6));
  for (const LinearBottleneckStage& stage : kLinearBottleneckStages) {
    const int out = scaled_channels(stage.channels, width);
    int stride = small_images && &stage == &kLinearBottleneckStages[1] ? 1 : stage.stride;
    for (int i = 0; i < stage.blocks; ++i) {
      features->add(std::make_shared<LinearBottleneck>(in, out, stride, stage.expansion));
      in = out;
      stride = 1;
    }
  }
  const int last = scaled_channels(1280, std::max(1.0, width));  // not reduced, as in the paper
  features->add(std::make_shared<ConvNorm>(pointwise(in, last), Activation::kRelu6));
  return classifier_of_means(
      features, std::make_shared<Chain>(std::vector<NetworkPtr>{
                    std::make_shared<Dropout>(0.2), std::make_shared<Linear>(last, classes, LinearStart::kNormal)}));
}

}  // namespace

NetworkPtr make_mobilenet_v2(int classes, double width) { return make_network(classes, width, false); }

NetworkPtr make_cifar_mobilenet_v2(int classes, double width) { return make_network(classes, width, true); }

}  // namespace unstarve
