// Vectors of adjacent channels, of float32 or bfloat16 in memory.
//
// Included once per instruction set, hence Highway's include guard.
#if defined(UNSTARVE_MODELS_CHANNEL_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNSTARVE_MODELS_CHANNEL_VECTORS_INL_H_
#undef UNSTARVE_MODELS_CHANNEL_VECTORS_INL_H_
#else
#define UNSTARVE_MODELS_CHANNEL_VECTORS_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, 16>;
template <class D>
using V = hn::VFromD<D>;

using Bfloat16Bits = std::uint16_t;

template <class D>
HWY_INLINE V<D> load(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE V<D> load(D d, const Bfloat16Bits* from) {
  const hn::RebindToUnsigned<D> bits;
  const hn::Rebind<Bfloat16Bits, D> half;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, hn::LoadU(half, from))));
}

template <class D>
HWY_INLINE void store(V<D> value, D d, float* to) {
  hn::StoreU(value, d, to);
}
// Rounds to nearest even.
template <class D>
HWY_INLINE void store(V<D> value, D, Bfloat16Bits* to) {
  const hn::RebindToUnsigned<D> bits;
  const hn::RebindToSigned<D> integers;
  const hn::Rebind<Bfloat16Bits, D> half;
  const auto exact = hn::BitCast(bits, value);
  const auto odd = hn::And(hn::ShiftRight<16>(exact), hn::Set(bits, 1));
  const auto rounded = hn::Add(exact, hn::Add(odd, hn::Set(bits, 0x7FFF)));
  const auto nan = hn::RebindMask(bits, hn::IsNaN(value));  // rounding could overflow into the sign
  const auto upper = hn::ShiftRight<16>(hn::IfThenElse(nan, hn::Set(bits, 0x7FC00000), rounded));
  hn::StoreU(hn::DemoteTo(half, hn::BitCast(integers, upper)), half, to);
}

// Calls body(d, c) for vectors of the channels from `begin` to `end`, not included: the widest first, then halves.
template <class D, class Body>
HWY_INLINE void for_channels(D d, std::size_t begin, std::size_t end, const Body& body) {
  std::size_t c = begin;
  for (; c + hn::Lanes(d) <= end; c += hn::Lanes(d)) body(d, c);
  if constexpr (hn::MaxLanes(D()) > 1) {
    if (c < end) for_channels(hn::Half<D>(), c, end, body);
  }
}

// Calls body(d, vectors, c) for whole cache lines of channels, of 1 or more vectors, then for single vectors.
template <class Body>
HWY_INLINE void for_channel_lines(std::size_t begin, std::size_t end, const Body& body) {
  constexpr std::size_t kLine = 16, kVectors = kLine / hn::MaxLanes(DF());
  std::size_t c = begin;
  for (; c + kLine <= end; c += kLine) body(DF(), std::integral_constant<std::size_t, kVectors>(), c);
  for_channels(DF(), c, end,
               [&](auto d, std::size_t from) HWY_ATTR { body(d, std::integral_constant<std::size_t, 1>(), from); });
}

}  // namespace
}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
