#pragma once
// EfficientNet-B0 (Tan and Le, arXiv:1905.11946) in torchvision's layout, so that its weights can be loaded.
//
// Dropout 0.2; stochastic depth with probability 0.2 i / 16 at block i = 0..15, as in torchvision. `width` multiplies
// the channels of each layer (scaled_channels() in mobile_layers.h).

#include "unstarve/models/layers.h"

namespace unstarve {

[[nodiscard]] NetworkPtr make_efficientnet_b0(int classes, double width);

}  // namespace unstarve
