#pragma once
// The default network for 32-pixel images: as accurate as some ten minutes on two processor cores allow.
//
//   3 -> 32, 4x4 stride 2          16 x 16   (a strided stem: full-size feature maps cost more time than they bring)
//   32 -> 64, 3x3, pool             8 x 8
//   64 -> 128, 3x3                  8 x 8
//   128 -> 128 twice, shortcut      8 x 8
//   pool, 128 -> 256, 3x3           4 x 4
//   maximum over positions, linear
//
// Every convolution is followed by batch norm and ReLU; channels are multiples of 16 as vector units and matrix engines
// want them. 33 million multiply-adds per image. A PyTorch prototype on one Zen 5 core, float32, batch 256: 78.2 % of
// CIFAR-10's test images after 4 epochs; against a full-size 3x3 stem it trained 2.3 times as many images per second.

#include "unstarve/models/layers.h"

namespace unstarve {

[[nodiscard]] NetworkPtr make_cifar_net(int classes);

}  // namespace unstarve
