#pragma once
// Passes of batch normalisation in training over a tensor in channels-last format, which is rows of adjacent channels.
//
// Forward, with p = scale x + shift per channel, and optional tensors `inner` and `outer`:
//
//   y = activation(p + inner) + outer
//
// Backward, with the gradient g of p, which is that of y where the activation has slope 1 and 0 elsewhere:
//
//   dx = scale g + slope (x - mean) + offset
//
// Values are float32 or bfloat16; sums and coefficients are float32. NaN passes through activations and their
// gradients, as in torch.
//
// Threads: callers divide the rows; calls for different rows can run concurrently. Does not need libtorch.

#include <cstddef>
#include <cstdint>
#include <limits>

namespace unstarve {

// Precondition of the passes: one of the first three.
enum class Activation : std::uint8_t { kNone, kRelu, kRelu6, kHardswish, kSilu, kGelu };

// Values at or beyond a bound are clamped and have no gradient. NaN: no bound, because comparisons with it are false.
struct ActivationBounds {
  float lower, upper;
};
[[nodiscard]] inline ActivationBounds bounds_of(Activation activation) {
  constexpr float kNoBound = std::numeric_limits<float>::quiet_NaN();
  if (activation == Activation::kNone) return {kNoBound, kNoBound};
  return {0, activation == Activation::kRelu ? kNoBound : 6};
}

// Contiguous rows of a tensor.
struct RowBlock {
  std::size_t rows = 0;
  std::size_t channels = 0;
  bool bfloat16 = false;
};

// One value per channel.
struct NormCoefficients {
  const float* scale = nullptr;
  const float* shift = nullptr;
  const float* mean = nullptr;    // gradients only
  const float* slope = nullptr;   // input_gradient() only
  const float* offset = nullptr;  // input_gradient() only
};

// Writes 3 x channels values: a pivot near the mean, sum(x - pivot), sum((x - pivot)^2). The pivot is the mean of the
// first rows, so that the squares lose no digits.
void sum_moments(const RowBlock& block, const void* x, float* moments);

struct NormForward {
  const void* x = nullptr;
  const void* inner = nullptr;  // null: none
  const void* outer = nullptr;  // null: none; not together with `inner`
  void* y = nullptr;
  NormCoefficients coefficients{};
  Activation activation = Activation::kNone;
};
void normalise(const RowBlock& block, const NormForward& pass);

struct NormBackward {
  const void* x = nullptr;
  const void* dy = nullptr;
  // With `inner`: the output of the forward pass without `outer`, which determines g, and where to write g. Otherwise
  // null: p is computed again.
  const void* y = nullptr;
  void* g = nullptr;
  void* dx = nullptr;  // input_gradient() only
  NormCoefficients coefficients{};
  Activation activation = Activation::kNone;
};
// Writes 2 x channels values: sum(g), sum(g (x - mean)). Writes g if there is `y`.
void sum_gradients(const RowBlock& block, const NormBackward& pass, float* sums);
// Ignores `y`: after sum_gradients() wrote g, that is `dy`, and there is no activation.
void input_gradient(const RowBlock& block, const NormBackward& pass);

}  // namespace unstarve
