#include "unstarve/models/kernels/batch_norm_rows.h"

#include <algorithm>

#include "unstarve/core/simd_targets.h"
#undef HWY_WANT_AVX3_DL  // adds integer instructions only

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/models/kernels/batch_norm_rows.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

#include "unstarve/models/kernels/channel_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE V<D> clamp(D d, V<D> value, const ActivationBounds& bounds) {
  const auto lower = hn::Set(d, bounds.lower), upper = hn::Set(d, bounds.upper);
  value = hn::IfThenElse(hn::Lt(value, lower), lower, value);
  return hn::IfThenElse(hn::Gt(value, upper), upper, value);
}
// `gradient` where `value` is between the bounds.
template <class D>
HWY_INLINE V<D> masked(D d, V<D> gradient, V<D> value, const ActivationBounds& bounds) {
  const auto outside = hn::Or(hn::Le(value, hn::Set(d, bounds.lower)), hn::Ge(value, hn::Set(d, bounds.upper)));
  return hn::IfThenZeroElse(outside, gradient);
}

// Sums over this number of rows stay in registers.
constexpr std::size_t kStep = 4;

template <std::size_t kCount, class T>
HWY_INLINE void add_moments(const T* x, std::size_t channels, float* moments) {
  for_channels(DF(), 0, channels, [&](auto d, std::size_t c) HWY_ATTR {
    float* const to = moments + c;
    const auto pivot = hn::LoadU(d, to);
    auto sum = hn::LoadU(d, to + channels), squares = hn::LoadU(d, to + 2 * channels);
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto value = hn::Sub(load(d, x + i * channels + c), pivot);
      sum = hn::Add(sum, value);
      squares = hn::MulAdd(value, value, squares);
    }
    hn::StoreU(sum, d, to + channels);
    hn::StoreU(squares, d, to + 2 * channels);
  });
}

template <class T>
void sum_moments_of(const RowBlock& block, const T* x, float* moments) {
  const std::size_t rows = block.rows, channels = block.channels;
  const std::size_t first = std::min<std::size_t>(rows, 8);
  for_channels(DF(), 0, channels, [&](auto d, std::size_t c) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (std::size_t row = 0; row < first; ++row) sum = hn::Add(sum, load(d, x + row * channels + c));
    hn::StoreU(hn::Mul(sum, hn::Set(d, 1 / static_cast<float>(first))), d, moments + c);
  });
  std::fill(moments + channels, moments + 3 * channels, 0.0F);
  std::size_t row = 0;
  for (; row + kStep <= rows; row += kStep) add_moments<kStep>(x + row * channels, channels, moments);
  for (; row < rows; ++row) add_moments<1>(x + row * channels, channels, moments);
}

enum class Added { kNothing, kInner, kOuter };

template <class T, Added kAdded>
void normalise_of(const RowBlock& block, const NormForward& pass) {
  const ActivationBounds bounds = bounds_of(pass.activation);
  const auto* x = static_cast<const T*>(pass.x);
  const auto* added = static_cast<const T*>(kAdded == Added::kInner ? pass.inner : pass.outer);
  auto* y = static_cast<T*>(pass.y);
  const float *const scale = pass.coefficients.scale, *const shift = pass.coefficients.shift;
  for (std::size_t row = 0; row < block.rows; ++row) {
    for_channels(DF(), 0, block.channels, [&](auto d, std::size_t c) HWY_ATTR {
      auto value = hn::MulAdd(load(d, x + c), hn::LoadU(d, scale + c), hn::LoadU(d, shift + c));
      if constexpr (kAdded == Added::kInner) value = hn::Add(value, load(d, added + c));
      value = clamp(d, value, bounds);
      if constexpr (kAdded == Added::kOuter) value = hn::Add(value, load(d, added + c));
      store(value, d, y + c);
    });
    x += block.channels;
    y += block.channels;
    if constexpr (kAdded != Added::kNothing) added += block.channels;
  }
}

template <class T>
void normalise_any(const RowBlock& block, const NormForward& pass) {
  if (pass.inner != nullptr) return normalise_of<T, Added::kInner>(block, pass);
  if (pass.outer != nullptr) return normalise_of<T, Added::kOuter>(block, pass);
  normalise_of<T, Added::kNothing>(block, pass);
}

// What determines g.
enum class MaskOf { kNothing, kX, kY };

template <class T, MaskOf kMask>
struct Gradient {
  const T* x;
  const T* dy;
  const T* y;
  T* g_out;
  NormCoefficients coefficients;
  ActivationBounds bounds;

  Gradient(const NormBackward& pass)
      : x(static_cast<const T*>(pass.x)),
        dy(static_cast<const T*>(pass.dy)),
        y(static_cast<const T*>(pass.y)),
        g_out(static_cast<T*>(pass.g)),
        coefficients(pass.coefficients),
        bounds(bounds_of(pass.activation)) {}

  // g at `index`, whose value of x is `input` and whose channel is c.
  template <class D>
  HWY_INLINE V<D> g(D d, std::size_t index, V<D> input, std::size_t c) const {
    auto gradient = load(d, dy + index);
    if constexpr (kMask == MaskOf::kX) {
      const auto p = hn::MulAdd(input, hn::LoadU(d, coefficients.scale + c), hn::LoadU(d, coefficients.shift + c));
      gradient = masked(d, gradient, p, bounds);
    }
    if constexpr (kMask == MaskOf::kY) {
      gradient = masked(d, gradient, load(d, y + index), bounds);
      store(gradient, d, g_out + index);
    }
    return gradient;
  }
};

template <std::size_t kCount, class T, MaskOf kMask>
HWY_INLINE void add_gradients(const Gradient<T, kMask>& gradient, std::size_t start, std::size_t channels,
                              float* sums) {
  for_channels(DF(), 0, channels, [&](auto d, std::size_t c) HWY_ATTR {
    const auto mean = hn::LoadU(d, gradient.coefficients.mean + c);
    auto sum = hn::LoadU(d, sums + c), products = hn::LoadU(d, sums + channels + c);
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::size_t index = start + i * channels + c;
      const auto input = load(d, gradient.x + index);
      const auto g = gradient.g(d, index, input, c);
      sum = hn::Add(sum, g);
      products = hn::MulAdd(g, hn::Sub(input, mean), products);
    }
    hn::StoreU(sum, d, sums + c);
    hn::StoreU(products, d, sums + channels + c);
  });
}

template <class T, MaskOf kMask>
void sum_gradients_of(const RowBlock& block, const NormBackward& pass, float* sums) {
  const Gradient<T, kMask> gradient(pass);
  const std::size_t rows = block.rows, channels = block.channels;
  std::fill(sums, sums + 2 * channels, 0.0F);
  std::size_t row = 0;
  for (; row + kStep <= rows; row += kStep) add_gradients<kStep>(gradient, row * channels, channels, sums);
  for (; row < rows; ++row) add_gradients<1>(gradient, row * channels, channels, sums);
}

template <class T, MaskOf kMask>
void input_gradient_of(const RowBlock& block, const NormBackward& pass) {
  const Gradient<T, kMask> gradient(pass);
  const NormCoefficients to = pass.coefficients;
  auto* const dx = static_cast<T*>(pass.dx);
  for (std::size_t row = 0; row < block.rows; ++row) {
    for_channels(DF(), 0, block.channels, [&](auto d, std::size_t c) HWY_ATTR {
      const std::size_t index = row * block.channels + c;
      const auto input = load(d, gradient.x + index);
      const auto g = gradient.g(d, index, input, c);
      const auto centred = hn::Sub(input, hn::LoadU(d, to.mean + c));
      const auto rest = hn::MulAdd(hn::LoadU(d, to.slope + c), centred, hn::LoadU(d, to.offset + c));
      store(hn::MulAdd(hn::LoadU(d, to.scale + c), g, rest), d, dx + index);
    });
  }
}

template <class T>
void sum_gradients_any(const RowBlock& block, const NormBackward& pass, float* sums) {
  if (pass.activation == Activation::kNone) return sum_gradients_of<T, MaskOf::kNothing>(block, pass, sums);
  if (pass.y != nullptr) return sum_gradients_of<T, MaskOf::kY>(block, pass, sums);
  sum_gradients_of<T, MaskOf::kX>(block, pass, sums);
}

template <class T>
void input_gradient_any(const RowBlock& block, const NormBackward& pass) {
  if (pass.activation == Activation::kNone) return input_gradient_of<T, MaskOf::kNothing>(block, pass);
  input_gradient_of<T, MaskOf::kX>(block, pass);
}

}  // namespace

void sum_moments_on_target(const RowBlock& block, const void* x, float* moments) {
  if (block.bfloat16) return sum_moments_of(block, static_cast<const Bfloat16Bits*>(x), moments);
  sum_moments_of(block, static_cast<const float*>(x), moments);
}
void normalise_on_target(const RowBlock& block, const NormForward& pass) {
  block.bfloat16 ? normalise_any<Bfloat16Bits>(block, pass) : normalise_any<float>(block, pass);
}
void sum_gradients_on_target(const RowBlock& block, const NormBackward& pass, float* sums) {
  block.bfloat16 ? sum_gradients_any<Bfloat16Bits>(block, pass, sums) : sum_gradients_any<float>(block, pass, sums);
}
void input_gradient_on_target(const RowBlock& block, const NormBackward& pass) {
  block.bfloat16 ? input_gradient_any<Bfloat16Bits>(block, pass) : input_gradient_any<float>(block, pass);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(sum_moments_on_target);
HWY_EXPORT(normalise_on_target);
HWY_EXPORT(sum_gradients_on_target);
HWY_EXPORT(input_gradient_on_target);

void sum_moments(const RowBlock& block, const void* x, float* moments) {
  HWY_DYNAMIC_DISPATCH(sum_moments_on_target)(block, x, moments);
}
void normalise(const RowBlock& block, const NormForward& pass) {
  HWY_DYNAMIC_DISPATCH(normalise_on_target)(block, pass);
}
void sum_gradients(const RowBlock& block, const NormBackward& pass, float* sums) {
  HWY_DYNAMIC_DISPATCH(sum_gradients_on_target)(block, pass, sums);
}
void input_gradient(const RowBlock& block, const NormBackward& pass) {
  HWY_DYNAMIC_DISPATCH(input_gradient_on_target)(block, pass);
}

}  // namespace unstarve
#endif
