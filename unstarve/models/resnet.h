#pragma once
// ResNet (He et al., arXiv:1512.03385) in torchvision's layout: the same names and shapes, so that its weights load.
//
// The stride of a bottleneck block sits in its 3x3 convolution ("v1.5"), as in torchvision.

#include <array>

#include "unstarve/models/layers.h"

namespace unstarve {

struct ResnetShape {
  std::array<int, 4> blocks{2, 2, 2, 2};
  bool bottleneck = false;
  bool small_images = false;  // 3x3 stem of stride 1 without max pooling, for 32-pixel images
};

[[nodiscard]] NetworkPtr make_resnet(const ResnetShape& shape, int classes);

}  // namespace unstarve
