#include "unstarve/ops/filter/filter_kernels.h"

#include <algorithm>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/ops/filter/filter_kernels.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

#include "unstarve/core/image.h"
#include "unstarve/ops/base/point_chain.h"
#include "unstarve/ops/filter/filter_pixel.h"

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

inline std::uint8_t sharpened(ThreeRows at, std::int32_t weight) {
  const auto three = [](const std::uint8_t* of) { return of[-kChannels] + of[0] + of[kChannels]; };
  return unstarve::sharpened(three(at.above) + three(at.row) + three(at.below), at.row[0], weight);
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

template <class T>
std::size_t add_vectors(const T*, const T*, std::uint32_t, std::size_t, std::uint32_t*) {
  return 0;
}
std::size_t sharpen_vectors(ThreeRows, std::int32_t, std::size_t, std::uint8_t*) { return 0; }

#else

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kLanes = (HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64) / 4;

template <class T>
std::size_t add_vectors(const T* a, const T* b, std::uint32_t weight, std::size_t count, std::uint32_t* sums) {
  const hn::FixedTag<std::uint32_t, kLanes> d;
  const hn::FixedTag<T, kLanes> narrow;
  const auto times = hn::Set(d, weight);
  const std::size_t end = count - count % kLanes;
  for (std::size_t i = 0; i < end; i += kLanes) {
    const auto both = hn::Add(hn::PromoteTo(d, hn::LoadU(narrow, a + i)), hn::PromoteTo(d, hn::LoadU(narrow, b + i)));
    hn::StoreU(hn::Add(hn::LoadU(d, sums + i), hn::Mul(both, times)), d, sums + i);
  }
  return end;
}

std::size_t sharpen_vectors(ThreeRows from, std::int32_t weight, std::size_t count, std::uint8_t* to) {
  const hn::FixedTag<std::int32_t, kLanes> d;
  const hn::FixedTag<std::uint8_t, kLanes> d8;
  const auto load = [&](const std::uint8_t* at) HWY_ATTR { return hn::PromoteTo(d, hn::LoadU(d8, at)); };
  const auto three = [&](const std::uint8_t* of)
                         HWY_ATTR { return hn::Add(hn::Add(load(of - kChannels), load(of)), load(of + kChannels)); };
  const auto six = hn::Set(d, 6), thirteenth = hn::Set(d, kThirteenth), slack = hn::Set(d, kPointSlack);
  const auto blend = hn::Set(d, weight);
  const std::size_t end = count - count % kLanes;
  for (std::size_t i = 0; i < end; i += kLanes) {
    const auto pixel = load(from.row + i);
    const auto nine = hn::Add(hn::Add(three(from.above + i), three(from.row + i)), three(from.below + i));
    const auto sum = hn::Add(hn::Add(nine, hn::ShiftLeft<2>(pixel)), six);
    const auto smooth = hn::ShiftRight<20>(hn::Mul(sum, thirteenth));
    const auto start = hn::Add(hn::ShiftLeft<kPointBits>(smooth), slack);
    const auto blended = hn::ShiftRight<kPointBits>(hn::Add(start, hn::Mul(blend, hn::Sub(pixel, smooth))));
    hn::StoreU(hn::DemoteTo(d8, blended), d8, to + i);
  }
  return end;
}

#endif

template <class T>
void add(const T* a, const T* b, std::uint32_t weight, std::size_t count, std::uint32_t* sums) {
  for (std::size_t i = add_vectors(a, b, weight, count, sums); i < count; ++i) {
    sums[i] += weight * (static_cast<std::uint32_t>(a[i]) + static_cast<std::uint32_t>(b[i]));
  }
}

}  // namespace

void add_bytes_on_target(const std::uint8_t* a, const std::uint8_t* b, std::uint32_t weight, std::size_t count,
                         std::uint32_t* sums) {
  add(a, b, weight, count, sums);
}
void add_words_on_target(const std::uint16_t* a, const std::uint16_t* b, std::uint32_t weight, std::size_t count,
                         std::uint32_t* sums) {
  add(a, b, weight, count, sums);
}
void sharpen_row_on_target(ThreeRows rows, std::int32_t weight, std::size_t count, std::uint8_t* to) {
  for (std::size_t i = sharpen_vectors(rows, weight, count, to); i < count; ++i) {
    to[i] = sharpened({rows.above + i, rows.row + i, rows.below + i}, weight);
  }
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(add_bytes_on_target);
HWY_EXPORT(add_words_on_target);
HWY_EXPORT(sharpen_row_on_target);

void add_weighted(const std::uint8_t* a, const std::uint8_t* b, std::uint32_t weight, std::size_t count,
                  std::uint32_t* sums) {
  HWY_DYNAMIC_DISPATCH(add_bytes_on_target)(a, b, weight, count, sums);
}
void add_weighted(const std::uint16_t* a, const std::uint16_t* b, std::uint32_t weight, std::size_t count,
                  std::uint32_t* sums) {
  HWY_DYNAMIC_DISPATCH(add_words_on_target)(a, b, weight, count, sums);
}
void sharpen_row(ThreeRows rows, std::int32_t weight, std::size_t count, std::uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(sharpen_row_on_target)(rows, weight, count, to);
}

}  // namespace unstarve
#endif
