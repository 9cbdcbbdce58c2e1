// The vector arithmetic of a conversion: pixels to normalised values, and values to memory. Included once per
// instruction set, hence Highway's include guard. Only if HWY_NATIVE_FMA.
#if defined(UNSTARVE_OPS_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNSTARVE_OPS_CONVERT_INL_H_
#undef UNSTARVE_OPS_CONVERT_INL_H_
#else
#define UNSTARVE_OPS_CONVERT_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "unstarve/ops/store/convert.h"

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

#if HWY_NATIVE_FMA

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kLine = 64;  // bytes of a cache line

using DF = hn::CappedTag<float, kLine / sizeof(float)>;
using DI = hn::RebindToSigned<DF>;
using DU = hn::RebindToUnsigned<DF>;
using VF = hn::VFromD<DF>;
constexpr std::size_t kLanes = hn::MaxLanes(DF());

using D8 = hn::Rebind<std::uint8_t, DF>;

HWY_INLINE VF normalise(hn::VFromD<D8> pixels, VF scale, VF bias) {
  return hn::MulAdd(hn::ConvertTo(DF(), hn::PromoteTo(DI(), pixels)), scale, bias);
}

// The upper 16 bits rounded to nearest even, as 32-bit numbers below 2^16.
HWY_INLINE hn::VFromD<DI> rounded_upper_half(VF value) {
  const auto bits = hn::BitCast(DU(), value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(DU(), 1));
  return hn::BitCast(DI(), hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(DU(), 0x7FFF)))));
}

// Writes two vectors to an address aligned to both.
template <bool kBypassCache>
HWY_INLINE void write_two(VF a, VF b, float* to) {
  if constexpr (kBypassCache) {
    hn::Stream(a, DF(), to);
    hn::Stream(b, DF(), to + kLanes);
  } else {
    hn::Store(a, DF(), to);
    hn::Store(b, DF(), to + kLanes);
  }
}
template <bool kBypassCache>
HWY_INLINE void write_two(VF a, VF b, Bfloat16* to) {
  const hn::Repartition<std::uint16_t, DF> d16;
  const hn::Half<decltype(d16)> half;
  const auto both =
      hn::Combine(d16, hn::DemoteTo(half, rounded_upper_half(b)), hn::DemoteTo(half, rounded_upper_half(a)));
  if constexpr (kBypassCache) {
    hn::Stream(both, d16, reinterpret_cast<std::uint16_t*>(to));
  } else {
    hn::Store(both, d16, reinterpret_cast<std::uint16_t*>(to));
  }
}
template <bool kBypassCache>
HWY_INLINE void write_two(VF a, VF b, Float16* to) {
  const hn::Rebind<hwy::float16_t, DF> half;
  const hn::RebindToUnsigned<decltype(half)> half_bits;
  const hn::Repartition<std::uint16_t, DF> d16;
  const auto both =
      hn::Combine(d16, hn::BitCast(half_bits, hn::DemoteTo(half, b)), hn::BitCast(half_bits, hn::DemoteTo(half, a)));
  if constexpr (kBypassCache) {
    hn::Stream(both, d16, reinterpret_cast<std::uint16_t*>(to));
  } else {
    hn::Store(both, d16, reinterpret_cast<std::uint16_t*>(to));
  }
}

#endif

}  // namespace
}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
