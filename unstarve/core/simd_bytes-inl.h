// Byte-vector functions that Highway 1.0 lacks. Included once per instruction set, hence Highway's include guard. Not
// available where HWY_TARGET is HWY_SCALAR or HWY_EMU128.
#if defined(UNSTARVE_CORE_SIMD_BYTES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNSTARVE_CORE_SIMD_BYTES_INL_H_
#undef UNSTARVE_CORE_SIMD_BYTES_INL_H_
#else
#define UNSTARVE_CORE_SIMD_BYTES_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

namespace hn = hwy::HWY_NAMESPACE;

// Converts two vectors of signed 16-bit values to one vector of bytes, signed or unsigned as D8 is, with saturation.
// Each 128-bit block holds the values of `a`, then those of `b`.
template <class D8, class V16>
HWY_INLINE hn::VFromD<D8> to_bytes(D8 d, V16 a, V16 b) {
  [[maybe_unused]] constexpr bool kSigned = std::is_signed_v<hn::TFromD<D8>>;
#if HWY_ARCH_X86
  using V8 = hn::VFromD<D8>;
  if constexpr (hn::MaxLanes(d) == 16) {
    return V8{kSigned ? _mm_packs_epi16(a.raw, b.raw) : _mm_packus_epi16(a.raw, b.raw)};
  }
#if HWY_MAX_BYTES >= 32
  if constexpr (hn::MaxLanes(d) == 32) {
    return V8{kSigned ? _mm256_packs_epi16(a.raw, b.raw) : _mm256_packus_epi16(a.raw, b.raw)};
  }
#endif
#if HWY_MAX_BYTES >= 64
  if constexpr (hn::MaxLanes(d) == 64) {
    return V8{kSigned ? _mm512_packs_epi16(a.raw, b.raw) : _mm512_packus_epi16(a.raw, b.raw)};
  }
#endif
#else
  static_assert(hn::MaxLanes(D8()) == 16);
  const hn::Half<D8> half;
  return hn::Combine(d, hn::DemoteTo(half, b), hn::DemoteTo(half, a));
#endif
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL

// Permutations that interleave 64 pixels of three channels: first two channels, then the third with the result.
struct InterleavedOrder {
  alignas(64) std::uint8_t two[3][64] = {};    // index into the first channel followed by the second
  alignas(64) std::uint8_t three[3][64] = {};  // index into the result of `two` followed by the third channel
};

constexpr InterleavedOrder interleaved_order() {
  InterleavedOrder order;
  for (std::size_t i = 0; i < 3 * 64; ++i) {
    const std::size_t pixel = i / 3, channel = i % 3;
    order.two[i / 64][i % 64] = static_cast<std::uint8_t>(channel == 1 ? 64 + pixel : pixel);
    order.three[i / 64][i % 64] = static_cast<std::uint8_t>(channel == 2 ? 64 + pixel : i % 64);
  }
  return order;
}

// Highway's StoreInterleaved3 by full byte permutations.
HWY_INLINE void store_interleaved(hn::FixedTag<std::uint8_t, 64> d, hn::VFromD<hn::FixedTag<std::uint8_t, 64>> a,
                                  hn::VFromD<hn::FixedTag<std::uint8_t, 64>> b,
                                  hn::VFromD<hn::FixedTag<std::uint8_t, 64>> c, std::uint8_t* out) {
  static constexpr InterleavedOrder kOrder = interleaved_order();
  for (std::size_t i = 0; i < 3; ++i) {
    const __m512i two = _mm512_permutex2var_epi8(a.raw, hn::Load(d, kOrder.two[i]).raw, b.raw);
    const __m512i three = _mm512_permutex2var_epi8(two, hn::Load(d, kOrder.three[i]).raw, c.raw);
    hn::StoreU(hn::VFromD<decltype(d)>{three}, d, out + 64 * i);
  }
}

#else

template <class D8>
HWY_INLINE void store_interleaved(D8 d, hn::VFromD<D8> a, hn::VFromD<D8> b, hn::VFromD<D8> c, std::uint8_t* out) {
  hn::StoreInterleaved3(a, b, c, d, out);
}

#endif

#endif

}  // namespace
}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
