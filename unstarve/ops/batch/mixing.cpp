#include "unstarve/ops/batch/mixing.h"

#include <cmath>
#include <type_traits>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/ops/batch/mixing.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

#include "unstarve/core/random.h"
#include "unstarve/ops/store/element_bits.h"

#ifndef UNSTARVE_MIXING_DEFINITION
#define UNSTARVE_MIXING_DEFINITION
namespace unstarve::mixing {

using unstarve::write_element;

// Conversion of elements in memory to and from float32.
inline float value_of(std::uint8_t element) { return static_cast<float>(element); }
inline float value_of(float element) { return element; }
inline float value_of(Bfloat16 element) { return from_bfloat16(static_cast<std::uint16_t>(element)); }
inline float value_of(Float16 element) { return from_float16(static_cast<std::uint16_t>(element)); }
inline void write_element(float value, std::uint8_t& to) { to = static_cast<std::uint8_t>(std::nearbyint(value)); }

// The scalar loop over elements [first, count).
template <class T>
void blend(const T* from, float weight, std::size_t first, std::size_t count, T* to) {
  const float rest = 1 - weight;
  for (std::size_t i = first; i < count; ++i) write_element(weight * value_of(to[i]) + rest * value_of(from[i]), to[i]);
}

// work(from, to) with the elements' own type.
template <class Work>
void with_type(ElementType type, const std::uint8_t* from, std::uint8_t* to, const Work& work) {
  with_element(type, [&](auto element) {
    using T = decltype(element);
    work(reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to));
  });
}

}  // namespace unstarve::mixing
#endif

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<DF>;
using DU = hn::RebindToUnsigned<DF>;
using D8 = hn::Rebind<std::uint8_t, DF>;
using D16 = hn::Rebind<std::uint16_t, DF>;
using VF = hn::VFromD<DF>;
constexpr std::size_t kLanes = hn::MaxLanes(DF());

HWY_INLINE VF load(const std::uint8_t* from) { return hn::ConvertTo(DF(), hn::PromoteTo(DI(), hn::LoadU(D8(), from))); }
HWY_INLINE void store(VF value, std::uint8_t* to) { hn::StoreU(hn::DemoteTo(D8(), hn::NearestInt(value)), D8(), to); }

HWY_INLINE VF load(const float* from) { return hn::LoadU(DF(), from); }
HWY_INLINE void store(VF value, float* to) { hn::StoreU(value, DF(), to); }

HWY_INLINE VF load(const Bfloat16* from) {
  const auto bits = hn::PromoteTo(DU(), hn::LoadU(D16(), reinterpret_cast<const std::uint16_t*>(from)));
  return hn::BitCast(DF(), hn::ShiftLeft<16>(bits));
}
HWY_INLINE void store(VF value, Bfloat16* to) {
  const auto bits = hn::BitCast(DU(), value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(DU(), 1));
  const auto upper = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(DU(), 0x7FFF))));
  hn::StoreU(hn::DemoteTo(D16(), hn::BitCast(DI(), upper)), D16(), reinterpret_cast<std::uint16_t*>(to));
}

#if HWY_NATIVE_FMA  // instruction sets with float16 conversion

using DH = hn::Rebind<hwy::float16_t, DF>;

HWY_INLINE VF load(const Float16* from) {
  return hn::PromoteTo(DF(), hn::BitCast(DH(), hn::LoadU(D16(), reinterpret_cast<const std::uint16_t*>(from))));
}
HWY_INLINE void store(VF value, Float16* to) {
  hn::StoreU(hn::BitCast(D16(), hn::DemoteTo(DH(), value)), D16(), reinterpret_cast<std::uint16_t*>(to));
}
template <class T>
constexpr bool kVectors = true;

#else

template <class T>
constexpr bool kVectors = !std::is_same_v<T, Float16>;

#endif

template <class T>
std::size_t blend_vectors(const T* from, float weight, std::size_t count, T* to) {
  if constexpr (!kVectors<T>) {
    return 0;
  } else {
    const VF part = hn::Set(DF(), weight), rest = hn::Set(DF(), 1 - weight);
    const std::size_t end = count - count % kLanes;
    for (std::size_t i = 0; i < end; i += kLanes)
      store(hn::Add(hn::Mul(part, load(to + i)), hn::Mul(rest, load(from + i))), to + i);
    return end;
  }
}

#else

template <class T>
std::size_t blend_vectors(const T*, float, std::size_t, T*) {
  return 0;
}

#endif

}  // namespace

void blend_on_target(ElementType type, const std::uint8_t* from, float weight, std::size_t count, std::uint8_t* to) {
  mixing::with_type(type, from, to, [&](const auto* a, auto* b) {
    mixing::blend(a, weight, blend_vectors(a, weight, count, b), count, b);
  });
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(blend_on_target);

double draw_beta(double alpha, Random& random) {
  const double a = draw_gamma(alpha, random), b = draw_gamma(alpha, random);
  // Both can underflow for a tiny alpha; in the limit the result is 0 or 1 with equal probability.
  return a + b > 0 ? a / (a + b) : (random.uniform() < 0.5 ? 0.0 : 1.0);
}

void blend(ElementType type, const std::uint8_t* from, float weight, std::size_t count, std::uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(blend_on_target)(type, from, weight, count, to);
}

void blend_reference(ElementType type, const std::uint8_t* from, float weight, std::size_t count, std::uint8_t* to) {
  mixing::with_type(type, from, to, [&](const auto* a, auto* b) { mixing::blend(a, weight, 0, count, b); });
}

}  // namespace unstarve
#endif
