#pragma once
// ResNet (He et al., arXiv:1512.03385) with the names and shapes of torchvision, so that its weights can be loaded.
//
// The 3x3 convolution of a bottleneck block has the stride ("v1.5"), as in torchvision.

#include <array>

#include "unstarve/models/layers.h"

namespace unstarve {

struct ResnetShape {
  std::array<int, 4> blocks{2, 2, 2, 2};
  bool bottleneck = false;
  bool small_images = false;  // 3x3 stem of stride 1 without max pooling, for 32-pixel images
  int channels = 64;          // of the first stage; each of the others has twice those of the one before
};

[[nodiscard]] NetworkPtr make_resnet(const ResnetShape& shape, int classes);

}  // namespace unstarve
