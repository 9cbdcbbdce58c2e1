#pragma once
// The MobileNets (arXiv:1704.04861, arXiv:1801.04381, arXiv:1905.02244) in torchvision's layout, so that its weights
// can be loaded.
//
// `width` multiplies the channels of each layer (scaled_channels() in mobile_layers.h), as torchvision's `width_mult`.
//
// torchvision has no MobileNetV1. Its layout here:
//
//   features.0.{0,1}   stem: 3x3 convolution, batch norm
//   features.N.{0,1}   block N = 1..13: depthwise 3x3 convolution, batch norm
//   features.N.{3,4}   1x1 convolution, batch norm; children 2 and 5 are ReLU
//   classifier         linear layer

#include "unstarve/models/layers.h"

namespace unstarve {

[[nodiscard]] NetworkPtr make_mobilenet_v1(int classes, double width);
[[nodiscard]] NetworkPtr make_mobilenet_v2(int classes, double width);
// For 32-pixel images: the first two strides are 1, so that the last blocks have 4 x 4 pixels instead of 1.
[[nodiscard]] NetworkPtr make_cifar_mobilenet_v2(int classes, double width);
[[nodiscard]] NetworkPtr make_mobilenet_v3_large(int classes, double width);
[[nodiscard]] NetworkPtr make_mobilenet_v3_small(int classes, double width);

}  // namespace unstarve
