#pragma once
// Test-time augmentation: several views of each image in evaluations, whose logits are averaged.
//
//   none              the image
//   mirror            the image and its mirror image, each with weight 1/2
//   mirror_translate  the two of `mirror` with weight 1/4 each; the image moved by one pixel down and right, and up and
//                     left, with reflected borders, and their mirror images, with weight 1/8 each
//
// As in airbench94 (Jordan, arXiv:2404.00498). Threads: pure.

#include <functional>

#include <torch/types.h>

#include "unstarve/train/settings.h"

namespace unstarve {

// The weighted mean of the logits of all views. `images`: N x C x H x W, at least 2 x 2 pixels. `forward` is given
// contiguous images in `format`.
[[nodiscard]] torch::Tensor mean_logits(const torch::Tensor& images, TestAugmentation augmentation,
                                        torch::MemoryFormat format,
                                        const std::function<torch::Tensor(const torch::Tensor&)>& forward);

}  // namespace unstarve
