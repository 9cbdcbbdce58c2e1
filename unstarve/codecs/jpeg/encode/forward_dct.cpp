#include "unstarve/codecs/jpeg/encode/forward_dct.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "unstarve/codecs/jpeg/layout/zigzag.h"
#include "unstarve/codecs/jpeg/transform/dct_constants.h"
#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/codecs/jpeg/encode/forward_dct.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

#include "unstarve/codecs/jpeg/transform/dct_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

// Machines without SSE4.
void run(const std::uint8_t* samples, std::ptrdiff_t stride, const Quantiser& quantiser, ZigzagRow& row) {
  QuantisationTable factors;
  for (std::size_t i = 0; i < 64; ++i) factors[i] = static_cast<std::uint8_t>(quantiser.correction[i] / 4);
  for (std::size_t block = 0; block < row.groups() * ZigzagRow::kGroupBlocks; ++block) {
    std::int16_t* values = row.values() + 64 * block;
    forward_dct_reference(samples + 8 * block, stride, factors, values);
    std::uint64_t nonzero = 0;
    for (std::size_t i = 0; i < 64; ++i) nonzero |= std::uint64_t{values[i] != 0} << i;
    row.nonzero()[block] = nonzero;
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;

static_assert(ZigzagRow::kGroupBlocks % kParts == 0);
using D8 = hn::FixedTag<std::uint8_t, kBytes>;
using D8H = hn::FixedTag<std::uint8_t, kBytes / 2>;
using DU16 = hn::FixedTag<std::uint16_t, kBytes / 2>;
using V8 = hn::VFromD<D8>;
using VU16 = hn::VFromD<DU16>;

// The transform in one dimension, across eight vectors; sums of eight values fit 16 bits in both passes.
template <bool kFirst>
HWY_INLINE void transform(V16 (&v)[8]) {
  using namespace dct;  // NOLINT: its constants
  constexpr int kDown = kFirst ? kBits - kBetween : kBits + kBetween;
  const V16 s0 = hn::Add(v[0], v[7]), s1 = hn::Add(v[1], v[6]), s2 = hn::Add(v[2], v[5]), s3 = hn::Add(v[3], v[4]);
  const V16 d0 = hn::Sub(v[0], v[7]), d1 = hn::Sub(v[1], v[6]), d2 = hn::Sub(v[2], v[5]), d3 = hn::Sub(v[3], v[4]);

  const V16 e0 = hn::Add(s0, s3), e1 = hn::Add(s1, s2);
  const V16 sum = hn::Add(e0, e1), difference = hn::Sub(e0, e1);
  if constexpr (kFirst) {
    v[0] = hn::ShiftLeft<kBetween>(sum);
    v[4] = hn::ShiftLeft<kBetween>(difference);
  } else {
    const V16 rounding = hn::Set(D16(), 1 << (kBetween - 1));
    v[0] = hn::ShiftRight<kBetween>(hn::Add(sum, rounding));
    v[4] = hn::ShiftRight<kBetween>(hn::Add(difference, rounding));
  }
  const Pair even(hn::Sub(s0, s3), hn::Sub(s1, s2));
  v[2] = narrowed<kDown>(even.times<k0_541 + k0_765, k0_541>(half<kDown>()));
  v[6] = narrowed<kDown>(even.times<k0_541, k0_541 - k1_847>(half<kDown>()));

  const Pair z(hn::Add(d3, d1), hn::Add(d2, d0));
  const Wide z3 = z.times<k1_175 - k1_961, k1_175>(half<kDown>());
  const Wide z4 = z.times<k1_175, k1_175 - k0_390>(half<kDown>());
  const Pair d30(d3, d0);
  const Pair d21(d2, d1);
  v[7] = narrowed<kDown>(d30.times<k0_298 - k0_899, -k0_899>(z3));
  v[1] = narrowed<kDown>(d30.times<-k0_899, k1_501 - k0_899>(z4));
  v[5] = narrowed<kDown>(d21.times<k2_053 - k2_562, -k2_562>(z4));
  v[3] = narrowed<kDown>(d21.times<-k2_562, k3_072 - k2_562>(z3));
}

HWY_INLINE V16 quantised(V16 v, const Quantiser& quantiser, std::size_t y) {
  const DU16 d;
  const V16 sign = hn::ShiftRight<15>(v);
  const VU16 size = hn::BitCast(d, hn::Abs(v));
  const VU16 sum = hn::Add(size, hn::LoadDup128(d, quantiser.correction.data() + 8 * y));
  const VU16 product = hn::MulHigh(sum, hn::LoadDup128(d, quantiser.reciprocal.data() + 8 * y));
  const VU16 quotient = hn::MulHigh(product, hn::LoadDup128(d, quantiser.scale.data() + 8 * y));
  return hn::Sub(hn::Xor(hn::BitCast(D16(), quotient), sign), sign);
}

// Stores each part in its block.
template <class D>
HWY_INLINE void store_parts(D d, hn::VFromD<D> v, std::int16_t* out) {
  if constexpr (hn::MaxLanes(D()) == 8) {
    hn::Store(v, d, out);
  } else {
    const hn::Half<D> half;
    store_parts(half, hn::LowerHalf(half, v), out);
    store_parts(half, hn::UpperHalf(half, v), out + 64 * (hn::MaxLanes(half) / 8));
  }
}

// Sixteen coefficients of each block, and 16 bits that mark those that are not zero.
template <std::size_t kQuarter>
HWY_INLINE void store_quarter(const V16 (&rows)[8], std::int16_t* values, std::uint16_t* nonzero) {
  const V16 zero = hn::Zero(D16());
  const V16 a = eighth_of<kZigzag, 2 * kQuarter>(rows);
  const V16 b = eighth_of<kZigzag, 2 * kQuarter + 1>(rows);
  store_parts(D16(), a, values + 16 * kQuarter);
  store_parts(D16(), b, values + 16 * kQuarter + 8);
  const V8 zero_a = hn::BitCast(D8(), hn::VecFromMask(D16(), hn::Ne(a, zero)));
  const V8 zero_b = hn::BitCast(D8(), hn::VecFromMask(D16(), hn::Ne(b, zero)));
  alignas(16) static constexpr std::uint8_t kOrder[16] = {0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15};
  const V8 flags = hn::TableLookupBytes(hn::OddEven(zero_b, zero_a), hn::LoadDup128(D8(), kOrder));
  hn::StoreMaskBits(D8(), hn::MaskFromVec(flags), reinterpret_cast<std::uint8_t*>(nonzero));
}

HWY_INLINE void run_blocks(const std::uint8_t* samples, std::ptrdiff_t stride, const Quantiser& quantiser,
                           std::int16_t* values, std::uint64_t* nonzero) {
  V16 v[8];
  for (std::ptrdiff_t y = 0; y < 8; ++y) {
    const auto row = hn::LoadU(D8H(), samples + y * stride);
    v[y] = hn::Sub(hn::BitCast(D16(), hn::PromoteTo(DU16(), row)), hn::Set(D16(), 128));
  }
  transpose(v);
  transform<true>(v);
  transpose(v);
  transform<false>(v);
  for (std::size_t y = 0; y < 8; ++y) v[y] = quantised(v[y], quantiser, y);

  alignas(8) std::uint16_t bits[4][kParts];
  store_quarter<0>(v, values, bits[0]);
  store_quarter<1>(v, values, bits[1]);
  store_quarter<2>(v, values, bits[2]);
  store_quarter<3>(v, values, bits[3]);
  for (std::size_t p = 0; p < kParts; ++p) {
    nonzero[p] = bits[0][p] | std::uint64_t{bits[1][p]} << 16 | std::uint64_t{bits[2][p]} << 32 |
                 std::uint64_t{bits[3][p]} << 48;
  }
}

void run(const std::uint8_t* samples, std::ptrdiff_t stride, const Quantiser& quantiser, ZigzagRow& row) {
  const std::size_t blocks = row.groups() * ZigzagRow::kGroupBlocks;
  for (std::size_t block = 0; block < blocks; block += kParts) {
    run_blocks(samples + 8 * block, stride, quantiser, row.values() + 64 * block, row.nonzero() + block);
  }
}

#endif

}  // namespace

void forward_dct_on_target(const std::uint8_t* samples, std::ptrdiff_t stride, const Quantiser& quantiser,
                           ZigzagRow& row) {
  run(samples, stride, quantiser, row);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {
namespace {

HWY_EXPORT(forward_dct_on_target);

int descaled(int value, int down) { return (value + (1 << (down - 1))) >> down; }

// The transform of eight values `step` apart.
void transform(int* v, std::ptrdiff_t step, bool first) {
  using namespace dct;  // NOLINT: its constants
  const int down = first ? kBits - kBetween : kBits + kBetween;
  const auto in = [&](int i) { return v[i * step]; };
  const int s0 = in(0) + in(7), s1 = in(1) + in(6), s2 = in(2) + in(5), s3 = in(3) + in(4);
  const int d0 = in(0) - in(7), d1 = in(1) - in(6), d2 = in(2) - in(5), d3 = in(3) - in(4);
  const int e0 = s0 + s3, e1 = s1 + s2, e2 = s1 - s2, e3 = s0 - s3;
  v[0] = first ? (e0 + e1) * (1 << kBetween) : descaled(e0 + e1, kBetween);
  v[4 * step] = first ? (e0 - e1) * (1 << kBetween) : descaled(e0 - e1, kBetween);
  const int z1 = (e2 + e3) * k0_541;
  v[2 * step] = descaled(z1 + e3 * k0_765, down);
  v[6 * step] = descaled(z1 - e2 * k1_847, down);

  const int z5 = (d3 + d1 + d2 + d0) * k1_175;
  const int z3 = z5 - (d3 + d1) * k1_961, z4 = z5 - (d2 + d0) * k0_390;
  const int d30 = (d3 + d0) * k0_899, d21 = (d2 + d1) * k2_562;
  v[7 * step] = descaled(d3 * k0_298 - d30 + z3, down);
  v[5 * step] = descaled(d2 * k2_053 - d21 + z4, down);
  v[3 * step] = descaled(d1 * k3_072 - d21 + z3, down);
  v[step] = descaled(d0 * k1_501 - d30 + z4, down);
}

}  // namespace

void forward_dct(const std::uint8_t* samples, std::ptrdiff_t stride, const Quantiser& quantiser, ZigzagRow& row) {
  HWY_DYNAMIC_DISPATCH(forward_dct_on_target)(samples, stride, quantiser, row);
}

void forward_dct_reference(const std::uint8_t* samples, std::ptrdiff_t stride, const QuantisationTable& factors,
                           std::int16_t* out) {
  int values[64];
  for (std::ptrdiff_t i = 0; i < 64; ++i) values[i] = samples[i / 8 * stride + i % 8] - 128;
  for (std::ptrdiff_t y = 0; y < 8; ++y) transform(values + 8 * y, 1, true);
  for (std::ptrdiff_t x = 0; x < 8; ++x) transform(values + x, 8, false);
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t natural = kZigzag[i];
    const int divisor = 8 * factors[natural];
    const int quotient = (std::abs(values[natural]) + divisor / 2) / divisor;
    out[i] = static_cast<std::int16_t>(values[natural] < 0 ? -quotient : quotient);
  }
}

}  // namespace unstarve
#endif
