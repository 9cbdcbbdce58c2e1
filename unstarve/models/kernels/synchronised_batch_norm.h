#pragma once
// Batch normalisation with the mean and variance of the batches of all ranks together (as torch's SyncBatchNorm).
//
// With n ranks and batches of equal sizes, gradients are those of one process with the joined batch, up to rounding.
//
// Threads: one at a time. Failure: exceptions of `sum`. Cost: one sum over the ranks in each direction.

#include <functional>

#include <torch/types.h>

namespace unstarve {

// Replaces a tensor by its sum over all ranks.
using SumOverRanks = std::function<void(torch::Tensor&)>;

// Per channel, of floating point; the running values are changed.
struct BatchNormState {
  torch::Tensor weight, bias;
  torch::Tensor running_mean, running_var;
  double momentum = 0.1;
  double epsilon = 1e-5;
};

// x: N x C x H x W. `sum` must exist until the backward pass is done.
[[nodiscard]] torch::Tensor synchronised_batch_norm(const torch::Tensor& x, const BatchNormState& state,
                                                    const SumOverRanks& sum);

}  // namespace unstarve
