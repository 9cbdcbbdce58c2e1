#include "unstarve/models/kernels/matrix_product.h"

#include <algorithm>
#include <cstddef>

#include "unstarve/core/simd_targets.h"
#undef HWY_WANT_AVX3_DL  // adds integer instructions only

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/models/kernels/matrix_product.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

#include "unstarve/models/kernels/channel_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Sums of kRows x 2 vectors, one factor of a and 2 vectors of b must fit the registers: 32 with AVX-512, else 16.
constexpr std::size_t kMostRows = hn::MaxLanes(DF()) >= 16 ? 14 : 6;

// kRows rows of c, in kVectors adjacent vectors of columns.
template <std::size_t kRows, std::size_t kVectors, class D>
HWY_INLINE void multiply_block(D d, const MatrixProduct& p, const float* a, const float* b, float* c) {
  const std::size_t lanes = hn::Lanes(d);
  V<D> sums[kRows][kVectors];
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectors; ++v) sums[i][v] = hn::Zero(d);
  }
  for (std::size_t k = 0; k < p.depth; ++k) {
    V<D> factors[kVectors];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectors; ++v) factors[v] = hn::LoadU(d, b + v * lanes);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRows; ++i) {
      const auto factor = hn::Set(d, a[i * p.a_row]);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kVectors; ++v) sums[i][v] = hn::MulAdd(factor, factors[v], sums[i][v]);
    }
    a += p.a_column;
    b += p.b_row;
  }
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectors; ++v) {
      float* const to = c + i * p.c_row + v * lanes;
      hn::StoreU(p.add ? hn::Add(hn::LoadU(d, to), sums[i][v]) : sums[i][v], d, to);
    }
  }
}

// The rows from `row` on, in blocks of kRows, then of half as many.
template <std::size_t kRows, std::size_t kVectors, class D>
HWY_INLINE void multiply_rows(D d, const MatrixProduct& p, std::size_t row, std::size_t column) {
  for (; row + kRows <= p.rows; row += kRows)
    multiply_block<kRows, kVectors>(d, p, p.a + row * p.a_row, p.b + column, p.c + row * p.c_row + column);
  if constexpr (kRows > 1) multiply_rows<kRows / 2, kVectors>(d, p, row, column);
}

void multiply_columns(const MatrixProduct& product) {
  const DF d;
  const std::size_t pair = 2 * hn::Lanes(d), pairs = product.columns / pair;
  for (std::size_t i = 0; i < pairs; ++i) multiply_rows<kMostRows, 2>(d, product, 0, i * pair);
  for_channels(d, pairs * pair, product.columns,
               [&](auto any, std::size_t column) HWY_ATTR { multiply_rows<kMostRows, 1>(any, product, 0, column); });
}

}  // namespace

void multiply_on_target(const MatrixProduct& whole) {
  // Longer sums round more.
  constexpr std::size_t kMostDepth = 128;
  MatrixProduct product = whole;
  for (std::size_t k = 0; k == 0 || k < whole.depth; k += kMostDepth) {
    product.depth = std::min(kMostDepth, whole.depth - k);
    product.a = whole.a + k * whole.a_column;
    product.b = whole.b + k * whole.b_row;
    product.add = whole.add || k > 0;
    multiply_columns(product);
  }
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(multiply_on_target);

void multiply(const MatrixProduct& product) { HWY_DYNAMIC_DISPATCH(multiply_on_target)(product); }

}  // namespace unstarve
#endif
