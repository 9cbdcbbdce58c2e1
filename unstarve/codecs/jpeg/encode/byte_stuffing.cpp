#include "unstarve/codecs/jpeg/encode/byte_stuffing.h"

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/codecs/jpeg/encode/byte_stuffing.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

std::size_t stuff_bytes_on_target(const std::uint8_t* source, std::size_t bytes, std::uint8_t* target) {
  const hn::CappedTag<std::uint8_t, kStuffingSlack> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto ff = hn::Set(d, 0xFF);
  std::size_t from = 0;
  std::size_t to = 0;
  while (from + lanes <= bytes) {
    const auto v = hn::LoadU(d, source + from);
    hn::StoreU(v, d, target + to);
    const auto found = hn::FindFirstTrue(d, hn::Eq(v, ff));
    if (found < 0) {
      from += lanes;
      to += lanes;
    } else {
      from += static_cast<std::size_t>(found) + 1;
      to += static_cast<std::size_t>(found) + 1;
      target[to++] = 0;
    }
  }
  for (; from < bytes; ++from) {
    target[to++] = source[from];
    if (source[from] == 0xFF) target[to++] = 0;
  }
  return to;
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {
namespace {
HWY_EXPORT(stuff_bytes_on_target);
}

std::size_t stuff_bytes(const std::uint8_t* source, std::size_t bytes, std::uint8_t* target) {
  return HWY_DYNAMIC_DISPATCH(stuff_bytes_on_target)(source, bytes, target);
}

}  // namespace unstarve
#endif
