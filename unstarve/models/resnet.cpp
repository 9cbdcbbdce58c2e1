#include <utility>

#include "unstarve/models/networks.h"

namespace unstarve {
namespace {

ConvShape conv3x3(int in, int out, int stride = 1) { return {.in = in, .out = out, .stride = stride}; }
ConvShape conv1x1(int in, int out, int stride = 1) {
  return {.in = in, .out = out, .kernel = 1, .stride = stride, .padding = 0};
}

class BasicBlock final : public Network {
 public:
  static constexpr int kExpansion = 1;

  BasicBlock(int in, int width, int stride, NetworkPtr downsample)
      : conv1_(register_module("conv1", std::make_shared<Conv>(conv3x3(in, width, stride)))),
        bn1_(register_module("bn1", std::make_shared<BatchNorm>(width))),
        conv2_(register_module("conv2", std::make_shared<Conv>(conv3x3(width, width)))),
        bn2_(register_module("bn2", std::make_shared<BatchNorm>(width))),
        downsample_(std::move(downsample)) {
    if (downsample_) register_module("downsample", downsample_);
  }

  torch::Tensor forward(torch::Tensor x) override {
    torch::Tensor y = bn1_->forward(conv1_->forward(x), {Activation::kRelu});
    y = conv2_->forward(y);
    return bn2_->forward(y, {Activation::kRelu, downsample_ ? downsample_->forward(x) : x});
  }

 private:
  std::shared_ptr<Conv> conv1_;
  std::shared_ptr<BatchNorm> bn1_;
  std::shared_ptr<Conv> conv2_;
  std::shared_ptr<BatchNorm> bn2_;
  NetworkPtr downsample_;
};

class Bottleneck final : public Network {
 public:
  static constexpr int kExpansion = 4;

  Bottleneck(int in, int width, int stride, NetworkPtr downsample)
      : conv1_(register_module("conv1", std::make_shared<Conv>(conv1x1(in, width)))),
        bn1_(register_module("bn1", std::make_shared<BatchNorm>(width))),
        conv2_(register_module("conv2", std::make_shared<Conv>(conv3x3(width, width, stride)))),
        bn2_(register_module("bn2", std::make_shared<BatchNorm>(width))),
        conv3_(register_module("conv3", std::make_shared<Conv>(conv1x1(width, width * kExpansion)))),
        bn3_(register_module("bn3", std::make_shared<BatchNorm>(width * kExpansion))),
        downsample_(std::move(downsample)) {
    if (downsample_) register_module("downsample", downsample_);
  }

  torch::Tensor forward(torch::Tensor x) override {
    torch::Tensor y = bn1_->forward(conv1_->forward(x), {Activation::kRelu});
    y = bn2_->forward(conv2_->forward(y), {Activation::kRelu});
    y = conv3_->forward(y);
    return bn3_->forward(y, {Activation::kRelu, downsample_ ? downsample_->forward(x) : x});
  }

 private:
  std::shared_ptr<Conv> conv1_;
  std::shared_ptr<BatchNorm> bn1_;
  std::shared_ptr<Conv> conv2_;
  std::shared_ptr<BatchNorm> bn2_;
  std::shared_ptr<Conv> conv3_;
  std::shared_ptr<BatchNorm> bn3_;
  NetworkPtr downsample_;
};

template <class Block>
std::shared_ptr<Chain> make_stage(int in, int width, int blocks, int stride) {
  const int out = width * Block::kExpansion;
  NetworkPtr downsample;
  if (stride != 1 || in != out) {
    downsample = std::make_shared<ConvNorm>(conv1x1(in, out, stride));
  }
  auto stage = std::make_shared<Chain>();
  stage->add(std::make_shared<Block>(in, width, stride, downsample));
  for (int i = 1; i < blocks; ++i) stage->add(std::make_shared<Block>(out, width, 1, nullptr));
  return stage;
}

template <class Block>
class Resnet final : public Network {
 public:
  Resnet(const ResnetShape& shape, int classes)
      : small_images_(shape.small_images),
        conv1_(register_module("conv1",
                               std::make_shared<Conv>(shape.small_images ? conv3x3(3, shape.channels)
                                                                         : ConvShape{3, shape.channels, 7, 2, 3, 1}))),
        bn1_(register_module("bn1", std::make_shared<BatchNorm>(shape.channels))) {
    constexpr int kExpansion = Block::kExpansion;
    int in = shape.channels, width = shape.channels;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      layers_[i] = make_stage<Block>(in, width, shape.blocks[i], i == 0 ? 1 : 2);
      register_module("layer" + std::to_string(i + 1), layers_[i]);
      in = width * kExpansion;
      width *= 2;
    }
    fc_ = register_module("fc", std::make_shared<Linear>(in, classes));
  }

  torch::Tensor forward(torch::Tensor x) override {
    x = bn1_->forward(conv1_->forward(std::move(x)), {Activation::kRelu});
    if (!small_images_) x = torch::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
    for (const auto& layer : layers_) x = layer->forward(std::move(x));
    return fc_->forward(global_mean(x));
  }

 private:
  bool small_images_;
  std::shared_ptr<Conv> conv1_;
  std::shared_ptr<BatchNorm> bn1_;
  std::array<std::shared_ptr<Chain>, 4> layers_;
  std::shared_ptr<Linear> fc_;
};

}  // namespace

NetworkPtr make_resnet(const ResnetShape& shape, int classes) {
  if (shape.bottleneck) return std::make_shared<Resnet<Bottleneck>>(shape, classes);
  return std::make_shared<Resnet<BasicBlock>>(shape, classes);
}

}  // namespace unstarve
