#pragma once
// What the passes of fused_batch_norm.cpp on the CPU and those on a GPU share. Not for other files.
//
// A table has a row of float32 per quantity and a column per channel.

#include <cstdint>

#include <torch/types.h>

#include "unstarve/models/kernels/batch_norm_rows.h"
#include "unstarve/models/kernels/synchronised_batch_norm.h"

namespace unstarve::fused_norm {

enum TableRow : std::int64_t { kMean, kInverse, kScale, kShift, kTableRows };

inline const float* row_of(const torch::Tensor& table, TableRow row) {
  return table.const_data_ptr<float>() + row * table.size(1);
}
inline NormCoefficients coefficients_of(const torch::Tensor& table) {
  return {.scale = row_of(table, kScale), .shift = row_of(table, kShift), .mean = row_of(table, kMean)};
}

struct Plan {
  Activation activation;
  bool inner;  // whether the residual is added before the activation
  double epsilon;
};

// What the backward pass needs. `y` is undefined unless a residual was added before the activation.
struct Saved {
  torch::Tensor x, weight, table, y;
  Activation activation;
  double epsilon;
};

struct Gradients {
  torch::Tensor dx, dweight, dbias;
  torch::Tensor g;  // of the activation's input
};

// On a GPU, with x in channels-last format: float32, float16 or bfloat16. Nothing waits for the device, so NaN and
// infinity are found by nobody: they spread through the sums.
[[nodiscard]] bool gpu_supports(const torch::Tensor& x);
[[nodiscard]] torch::Tensor gpu_table(const torch::Tensor& x, const BatchNormState& state);
// `residual` may be undefined.
void gpu_normalise(const torch::Tensor& x, const torch::Tensor& residual, const torch::Tensor& table, const Plan& plan,
                   torch::Tensor& y);
// `result` has the memory of the results; `dy` is in channels-last format.
void gpu_gradients(const Saved& saved, const torch::Tensor& dy, Gradients& result);

}  // namespace unstarve::fused_norm
