#include "unstarve/ops/store/convert.h"

#include <algorithm>
#include <cstring>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/ops/store/convert.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

#include "unstarve/ops/store/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

// kPeriod 1: all values are of `channel`; 3: interleaved, starting with `channel`.
template <std::size_t kPeriod, class T>
HWY_INLINE void convert_by_table(const ValueMap& map, std::size_t channel, const std::uint8_t* from, std::size_t count,
                                 T* to) {
  for (std::size_t i = 0; i < count; ++i) {
    write_element(map.table[channel][from[i]], to[i]);
    if (kPeriod == kChannels && ++channel == kChannels) channel = 0;
  }
}

#if HWY_NATIVE_FMA

template <std::size_t kPeriod, bool kBypassCache, class T>
HWY_INLINE void convert(const ValueMap& map, std::size_t channel, const std::uint8_t* from, std::size_t count, T* to) {
  constexpr std::size_t kLineValues = kLine / sizeof(T);
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(to) % kLine / sizeof(T);
  const std::size_t head = misaligned == 0 ? 0 : kLineValues - misaligned < count ? kLineValues - misaligned : count;
  convert_by_table<kPeriod>(map, channel, from, head, to);
  channel = (channel + head % kPeriod) % kChannels;

  // The constants of three consecutive vectors; the fourth starts with the same channel as the first.
  alignas(64) float scales[kPeriod * kLanes], biases[kPeriod * kLanes];
  for (std::size_t i = 0; i < kPeriod * kLanes; ++i) {
    scales[i] = map.scale[kPeriod == 1 ? channel : (channel + i) % kChannels];
    biases[i] = map.bias[kPeriod == 1 ? channel : (channel + i) % kChannels];
  }
  VF scale[kPeriod], bias[kPeriod];
  for (std::size_t j = 0; j < kPeriod; ++j) {
    scale[j] = hn::Load(DF(), scales + j * kLanes);
    bias[j] = hn::Load(DF(), biases + j * kLanes);
  }

  // An even number of vectors and of cache lines, after which the channels repeat.
  constexpr std::size_t kStep = 2 * kPeriod * (kLineValues > kLanes ? kLineValues : kLanes);
  std::size_t i = head;
  for (; i + kStep <= count; i += kStep) {
    for (std::size_t j = 0; j < kStep / kLanes; j += 2) {
      const VF a = normalise(hn::LoadU(D8(), from + i + j * kLanes), scale[j % kPeriod], bias[j % kPeriod]);
      const VF b =
          normalise(hn::LoadU(D8(), from + i + (j + 1) * kLanes), scale[(j + 1) % kPeriod], bias[(j + 1) % kPeriod]);
      write_two<kBypassCache>(a, b, to + i + j * kLanes);
    }
  }
  convert_by_table<kPeriod>(map, channel, from + i, count - i, to + i);
}

#else

template <std::size_t kPeriod, bool kBypassCache, class T>
HWY_INLINE void convert(const ValueMap& map, std::size_t channel, const std::uint8_t* from, std::size_t count, T* to) {
  convert_by_table<kPeriod>(map, channel, from, count, to);
}

#endif

template <std::size_t kPeriod, class T>
void convert_to(const ValueMap& map, std::size_t channel, std::span<const std::uint8_t> from, T* to, Destination how) {
  if (how == Destination::kMemory) {
    convert<kPeriod, true>(map, channel, from.data(), from.size(), to);
  } else {
    convert<kPeriod, false>(map, channel, from.data(), from.size(), to);
  }
}

template <std::size_t kPeriod>
void convert_any(const ValueMap& map, std::size_t channel, std::span<const std::uint8_t> from, const Elements& to) {
  switch (to.type) {
    case ElementType::kUint8: return;
    case ElementType::kFloat32: return convert_to<kPeriod>(map, channel, from, static_cast<float*>(to.data), to.how);
    case ElementType::kBfloat16:
      return convert_to<kPeriod>(map, channel, from, static_cast<Bfloat16*>(to.data), to.how);
    case ElementType::kFloat16: return convert_to<kPeriod>(map, channel, from, static_cast<Float16*>(to.data), to.how);
  }
}

}  // namespace

void convert_plane_on_target(const ValueMap& map, int channel, std::span<const std::uint8_t> from, const Elements& to) {
  convert_any<1>(map, static_cast<std::size_t>(channel), from, to);
}
void convert_interleaved_on_target(const ValueMap& map, std::span<const std::uint8_t> from, const Elements& to) {
  convert_any<kChannels>(map, 0, from, to);
}

void copy_bypassing_cache_on_target(const std::uint8_t* HWY_RESTRICT from, std::size_t count,
                                    std::uint8_t* HWY_RESTRICT to) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<std::uint8_t, 64> d;
  const std::size_t step = hn::Lanes(d);
  const std::size_t head = std::min(count, (std::size_t{0} - reinterpret_cast<std::uintptr_t>(to)) % 64);
  std::memcpy(to, from, head);
  std::size_t i = head;
  for (; i + 4 * step <= count; i += 4 * step) {
    const auto a = hn::LoadU(d, from + i), b = hn::LoadU(d, from + i + step);
    const auto e = hn::LoadU(d, from + i + 2 * step), f = hn::LoadU(d, from + i + 3 * step);
    hn::Stream(a, d, to + i);
    hn::Stream(b, d, to + i + step);
    hn::Stream(e, d, to + i + 2 * step);
    hn::Stream(f, d, to + i + 3 * step);
  }
  std::memcpy(to + i, from + i, count - i);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(convert_plane_on_target);
HWY_EXPORT(convert_interleaved_on_target);
HWY_EXPORT(copy_bypassing_cache_on_target);

void convert_plane(const ValueMap& map, int channel, std::span<const std::uint8_t> from, const Elements& to) {
  HWY_DYNAMIC_DISPATCH(convert_plane_on_target)(map, channel, from, to);
}
void convert_interleaved(const ValueMap& map, std::span<const std::uint8_t> from, const Elements& to) {
  HWY_DYNAMIC_DISPATCH(convert_interleaved_on_target)(map, from, to);
}

void copy_bypassing_cache(const std::uint8_t* from, std::size_t count, std::uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(copy_bypassing_cache_on_target)(from, count, to);
}

void finish_streaming() noexcept { hwy::FlushStream(); }

}  // namespace unstarve
#endif
