#pragma once
// The networks. Those of torchvision have its layout, so that its weights can be loaded.
//
// `width` multiplies the channels of each layer (scaled_channels() in mobile_layers.h), as torchvision's `width_mult`.

#include <array>

#include "unstarve/models/layers.h"

namespace unstarve {

// The default for 32-pixel images: designed for about ten minutes of training on two CPU cores (cifar_net.cpp).
[[nodiscard]] NetworkPtr make_cifar_net(int classes);
// That of airbench94 for 32-pixel images (cifar_speed.cpp). Before training it requires Network::prepare().
[[nodiscard]] NetworkPtr make_cifar_speed(int classes);

struct ResnetShape {
  std::array<int, 4> blocks{2, 2, 2, 2};
  bool bottleneck = false;
  bool small_images = false;  // 3x3 stem of stride 1 without max pooling, for 32-pixel images
  int channels = 64;          // of the first stage; each of the others has twice those of the one before
};
// ResNet (He et al., arXiv:1512.03385). The 3x3 convolution of a bottleneck block has the stride ("v1.5"), as in
// torchvision.
[[nodiscard]] NetworkPtr make_resnet(const ResnetShape& shape, int classes);

// The MobileNets (arXiv:1704.04861, arXiv:1801.04381, arXiv:1905.02244). torchvision has no MobileNetV1: its layout is
// documented in mobilenet_v1.cpp.
[[nodiscard]] NetworkPtr make_mobilenet_v1(int classes, double width);
[[nodiscard]] NetworkPtr make_mobilenet_v2(int classes, double width);
// For 32-pixel images: the first two strides are 1, so that the last blocks have 4 x 4 pixels instead of 1.
[[nodiscard]] NetworkPtr make_cifar_mobilenet_v2(int classes, double width);
[[nodiscard]] NetworkPtr make_mobilenet_v3_large(int classes, double width);
[[nodiscard]] NetworkPtr make_mobilenet_v3_small(int classes, double width);

// EfficientNet-B0 (Tan and Le, arXiv:1905.11946). Dropout 0.2; stochastic depth with probability 0.2 i / 16 at block
// i = 0..15, as in torchvision.
[[nodiscard]] NetworkPtr make_efficientnet_b0(int classes, double width);

}  // namespace unstarve
