#pragma once
// Convolutions of 3 x 3 with stride 1 and padding 1 by Winograd's algorithm (winograd_tiles.h), forward and backward: a
// quarter of the multiplications of libtorch's kernels. For float32 in channels-last format on a CPU.
//
// Results are those of torch::conv2d up to rounding, with errors of the same size. An infinite value or NaN makes
// all outputs of its tiles NaN, at most 8 x 8. The last digits depend on the number of threads. Second-order gradients
// are computed by torch's operations.
//
// Memory during a call: the transformed weights (4 times the weights; twice that in the backward pass) and the tiles of
// some images: per thread, about 29 KB for each channel of the input and of the output, or the tiles of one image (at
// most 64 MiB).
// Threads: torch's.

#include <torch/torch.h>

namespace unstarve {

// Whether winograd_convolution() can compute this convolution and is expected to be faster than torch::conv2d. False
// for other types, formats and devices, under autocast and tracing, for few channels or pixels, for sizes that fill
// their tiles badly, and for large images.
// x: samples x in x height x width; weight: out x in x 3 x 3.
[[nodiscard]] bool winograd_pays(const torch::Tensor& x, const torch::Tensor& weight);

// Precondition: winograd_pays(x, weight).
[[nodiscard]] torch::Tensor winograd_convolution(const torch::Tensor& x, const torch::Tensor& weight);

}  // namespace unstarve
