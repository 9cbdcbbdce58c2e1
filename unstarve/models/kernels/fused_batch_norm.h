#pragma once
// Batch normalisation in training with what follows it, in few passes over memory, in channels-last format: on the CPU
// for float32 and bfloat16, on a GPU also for float16 (fused_batch_norm_gpu.cpp).
//
//   y = activation(norm(x) + inner) + outer
//
// Results and running statistics are those of torch's operations up to rounding, and do not depend on the number of
// threads. The backward pass derives the slope of the activation from x, so that y is not kept for it without `inner`.
//
// Threads: the passes use torch's threads.

#include <torch/types.h>

#include "unstarve/models/kernels/batch_norm_rows.h"
#include "unstarve/models/kernels/synchronised_batch_norm.h"

namespace unstarve {

// What follows a batch norm. Residuals have the shape of its output; at most one is defined.
struct AfterNorm {
  Activation activation = Activation::kNone;
  torch::Tensor inner{};
  torch::Tensor outer{};
};

// The operations of torch for what follows. Overwrites `y`, unless there is `outer`.
[[nodiscard]] torch::Tensor apply_after_norm(const AfterNorm& after, torch::Tensor y);

// Batch norm in training and what follows it, by torch's operations.
[[nodiscard]] torch::Tensor separate_batch_norm(const torch::Tensor& x, const BatchNormState& state,
                                                const AfterNorm& after = {});
// Batch norm in training and what follows it: fused where that is possible, otherwise separate.
[[nodiscard]] torch::Tensor fused_batch_norm(const torch::Tensor& x, const BatchNormState& state,
                                             const AfterNorm& after = {});

}  // namespace unstarve
