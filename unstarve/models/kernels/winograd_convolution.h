#pragma once
// Convolutions of 3 x 3 with stride 1 and padding 1 by Winograd's algorithm (winograd_tiles.h), forward and backward: a
// quarter of the multiplications of libtorch's kernels. For channels-last format on a CPU: float32, and bfloat16 under
// autocast. The latter computes in float32 and uses the float32 weights, so that it is more exact than bfloat16.
//
// Results are those of torch::conv2d up to rounding, with errors of the same size. An infinite value or NaN makes
// all outputs of its tiles NaN, at most 8 x 8. The last digits depend on the number of threads. Second-order gradients
// are computed by torch's operations.
//
// Memory during a call: the transformed weights (4 times the weights; twice that in the backward pass) and the tiles of
// some images: per thread, about 14 KB for each channel of the input and of the output, or the tiles of one image (at
// most 64 MiB).
// Threads: torch's.

#include <torch/types.h>

namespace unstarve {

// Whether winograd_convolution() can compute this convolution and is expected to be faster than torch::conv2d. False
// for other types, formats and devices, under tracing, for few channels or pixels, for sizes that fill their tiles
// badly, for large images, and for bfloat16 on CPUs with AMX or without AVX2.
// x: samples x in x height x width, float32, or bfloat16 under autocast to it; weight: float32, out x in x 3 x 3.
[[nodiscard]] bool winograd_pays(const torch::Tensor& x, const torch::Tensor& weight);

// Precondition: winograd_pays(x, weight). The result has the type of x.
[[nodiscard]] torch::Tensor winograd_convolution(const torch::Tensor& x, const torch::Tensor& weight);

}  // namespace unstarve
