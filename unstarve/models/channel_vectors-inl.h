// Vectors of adjacent channels. Included once per instruction set, hence Highway's include guard.
#if defined(UNSTARVE_MODELS_CHANNEL_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNSTARVE_MODELS_CHANNEL_VECTORS_INL_H_
#undef UNSTARVE_MODELS_CHANNEL_VECTORS_INL_H_
#else
#define UNSTARVE_MODELS_CHANNEL_VECTORS_INL_H_
#endif

#include <cstddef>
#include <type_traits>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, 16>;
template <class D>
using V = hn::VFromD<D>;

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
