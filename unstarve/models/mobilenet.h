#pragma once
// MobileNetV2 (Sandler et al., arXiv:1801.04381), width 1, in torchvision's layout, so that torchvision weights can be
// loaded.

#include "unstarve/models/layers.h"

namespace unstarve {

[[nodiscard]] NetworkPtr make_mobilenet_v2(int classes);

}  // namespace unstarve
