// Vector operations of the inverse DCT of 8 x 8 blocks. Included once per instruction set, hence
// Highway's include guard. Not available where HWY_TARGET is HWY_SCALAR or HWY_EMU128.
// Threads: pure functions.
#if defined(UNSTARVE_CODECS_DCT_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNSTARVE_CODECS_DCT_VECTORS_INL_H_
#undef UNSTARVE_CODECS_DCT_VECTORS_INL_H_
#else
#define UNSTARVE_CODECS_DCT_VECTORS_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <utility>

#include <hwy/highway.h>

#include "unstarve/codecs/jpeg/layout/zigzag.h"

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

namespace hn = hwy::HWY_NAMESPACE;

// A vector holds one row of 1, 2 or 4 blocks, one per 128-bit part. All operations below stay within these parts.
constexpr std::size_t kBytes = HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64;
constexpr std::size_t kParts = kBytes / 16;
using D16 = hn::FixedTag<std::int16_t, kBytes / 2>;
using D32 = hn::FixedTag<std::int32_t, kBytes / 4>;
using D64 = hn::FixedTag<std::int64_t, kBytes / 8>;
using V16 = hn::VFromD<D16>;
using V32 = hn::VFromD<D32>;

// The 32-bit values of one row.
struct Wide {
  V32 lower;
  V32 upper;
};

HWY_INLINE Wide operator+(Wide a, Wide b) { return {hn::Add(a.lower, b.lower), hn::Add(a.upper, b.upper)}; }
HWY_INLINE Wide operator-(Wide a, Wide b) { return {hn::Sub(a.lower, b.lower), hn::Sub(a.upper, b.upper)}; }

// Computes a * x + b * y for 16-bit inputs and factors.
struct Pair {
  V16 lower;
  V16 upper;
  HWY_INLINE Pair(V16 a, V16 b) : lower(hn::InterleaveLower(D16(), a, b)), upper(hn::InterleaveUpper(D16(), a, b)) {}
  // From values of a and b that are already interleaved.
  static HWY_INLINE Pair interleaved(V16 lower, V16 upper) {
    Pair pair;
    pair.lower = lower;
    pair.upper = upper;
    return pair;
  }
  template <int kX, int kY>
  HWY_INLINE Wide times() const {
    return {product(lower, factors<kX, kY>()), product(upper, factors<kX, kY>())};
  }
  // a * x + b * y + sum. (One instruction with AVX-512 VNNI, which is no faster on Zen 5.)
  template <int kX, int kY>
  HWY_INLINE Wide times(Wide sum) const {
    return times<kX, kY>() + sum;
  }

 private:
  Pair() {}  // NOLINT: GCC does not compile an implicit constructor for the instruction set (64-bit ARM)
  template <int kX, int kY>
  static HWY_INLINE V16 factors() {
    return hn::BitCast(
        D16(), hn::Set(D32(), static_cast<std::int32_t>((static_cast<std::uint32_t>(kY) << 16) | (kX & 0xFFFF))));
  }
  static HWY_INLINE V32 product(V16 values, V16 factors) {
    V32 second = hn::Zero(D32());
    const V32 first = hn::ReorderWidenMulAccumulate(D32(), values, factors, hn::Zero(D32()), second);
    return hn::RearrangeToOddPlusEven(first, second);
  }
};

// v << kUp, from 16 to 32 bits.
template <int kUp>
HWY_INLINE Wide shifted(V16 v) {
  const V16 zero = hn::Zero(D16());
  constexpr int kDown = 16 - kUp;
  return {hn::ShiftRight<kDown>(hn::BitCast(D32(), hn::InterleaveLower(D16(), zero, v))),
          hn::ShiftRight<kDown>(hn::BitCast(D32(), hn::InterleaveUpper(D16(), zero, v)))};
}

// The rounding term of a shift by kDown, to be added before narrowed().
template <int kDown>
HWY_INLINE Wide half() {
  const V32 all = hn::Set(D32(), 1 << (kDown - 1));
  return {all, all};
}

// v >> kDown, from 32 to 16 bits, saturated.
template <int kDown>
HWY_INLINE V16 narrowed(Wide v) {
  return hn::ReorderDemote2To(D16(), hn::ShiftRight<kDown>(v.lower), hn::ShiftRight<kDown>(v.upper));
}

template <int kDown>
HWY_INLINE V16 descaled(Wide v) {
  return narrowed<kDown>(v + half<kDown>());
}

template <class D>
HWY_INLINE void interleave(D d, V16& a, V16& b) {
  const auto lower = hn::InterleaveLower(d, hn::BitCast(d, a), hn::BitCast(d, b));
  const auto upper = hn::InterleaveUpper(d, hn::BitCast(d, a), hn::BitCast(d, b));
  a = hn::BitCast(D16(), lower);
  b = hn::BitCast(D16(), upper);
}

// Values kOrder[8 * kEighth] .. kOrder[8 * kEighth + 7] of each part's 64 values, eight per vector.
template <const BlockOrder& kOrder, std::size_t kEighth, std::size_t kSource = 0>
HWY_INLINE V16 eighth_of(const V16 (&v)[8], V16 before = hn::Zero(D16())) {
  if constexpr (kSource == 8) {
    return before;
  } else {
    constexpr const EighthSelection& kTake = kEighthSelection<kOrder, kEighth, kSource>;
    if constexpr (kTake.any) {
      const hn::FixedTag<std::uint8_t, kBytes> d;
      const auto selected = hn::LoadDup128(d, kTake.bytes.data());
      before = hn::Or(before, hn::BitCast(D16(), hn::TableLookupBytesOr0(hn::BitCast(d, v[kSource]), selected)));
    }
    return eighth_of<kOrder, kEighth, kSource + 1>(v, before);
  }
}

// Transposes the 8 x 8 values of every 128-bit part.
HWY_INLINE void transpose(V16 (&v)[8]) {
  for (std::size_t i = 0; i < 8; i += 2) interleave(D16(), v[i], v[i + 1]);
  for (const std::size_t i : {0, 1, 4, 5}) interleave(D32(), v[i], v[i + 2]);
  for (std::size_t i = 0; i < 4; ++i) interleave(D64(), v[i], v[i + 4]);
  std::swap(v[1], v[4]);  // columns were 0 4 2 6 1 5 3 7
  std::swap(v[3], v[6]);
}

#endif

}  // namespace
}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
