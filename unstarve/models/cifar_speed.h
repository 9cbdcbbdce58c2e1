#pragma once
// The network of airbench94 for 32-pixel images (Jordan, "94% on CIFAR-10 in 3.29 seconds on a single GPU",
// arXiv:2404.00498; https://github.com/KellerJordan/cifar10-airbench, legacy/airbench94.py).
//
//   whitening 3 -> 24, 2x2        31 x 31   (whitening.h), GELU
//   groups.0  24 -> 64            15 x 15
//   groups.1  64 -> 256            7 x 7
//   groups.2  256 -> 256           3 x 3
//   maximum over positions, linear without bias, times 1/9
//
// A group: 3x3 convolution, 2x2 max pool, batch norm, GELU, 3x3 convolution, batch norm, GELU. Batch norms train only
// their bias. Convolutions start with copies of their inputs (ConvStart::kDirac). 118 million multiply-adds per image,
// 1.97 million parameters.
//
// Before training it requires Network::prepare().

#include "unstarve/models/layers.h"

namespace unstarve {

[[nodiscard]] NetworkPtr make_cifar_speed(int classes);

}  // namespace unstarve
