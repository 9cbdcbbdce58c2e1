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

HWY_INLINE void write_one(float value, float* to) { *to = value; }
HWY_INLINE void write_one(float value, Bfloat16* to) { *to = Bfloat16{bfloat16_bits(value)}; }
HWY_INLINE void write_one(float value, Float16* to) { *to = Float16{float16_bits(value)}; }

// kPeriod 1: all values are of `channel`; 3: interleaved, starting with `channel`.
template <std::size_t kPeriod, class T>
HWY_INLINE void convert_by_table(const ValueMap& map, std::size_t channel, const std::uint8_t* from, std::size_t count,
                                 T* to) {
  for (std::size_t i = 0; i < count; ++i) {
    write_one(map.table[channel][from[i]], to + i);
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

}  // namespace

template <std::size_t kPeriod, class T>
void convert_to(const ValueMap& map, int channel, const std::uint8_t* from, std::size_t count, T* to, Destination how) {
  if (how == Destination::kMemory) {
    convert<kPeriod, true>(map, static_cast<std::size_t>(channel), from, count, to);
  } else {
    convert<kPeriod, false>(map, static_cast<std::size_t>(channel), from, count, to);
  }
}

void plane_to_float(const ValueMap& map, int channel, const std::uint8_t* from, std::size_t count, float* to,
                    Destination how) {
  convert_to<1>(map, channel, from, count, to, how);
}
void plane_to_bfloat16(const ValueMap& map, int channel, const std::uint8_t* from, std::size_t count, Bfloat16* to,
                       Destination how) {
  convert_to<1>(map, channel, from, count, to, how);
}
void plane_to_float16(const ValueMap& map, int channel, const std::uint8_t* from, std::size_t count, Float16* to,
                      Destination how) {
  convert_to<1>(map, channel, from, count, to, how);
}
void interleaved_to_float(const ValueMap& map, const std::uint8_t* from, std::size_t count, float* to,
                          Destination how) {
  convert_to<kChannels>(map, 0, from, count, to, how);
}
void interleaved_to_bfloat16(const ValueMap& map, const std::uint8_t* from, std::size_t count, Bfloat16* to,
                             Destination how) {
  convert_to<kChannels>(map, 0, from, count, to, how);
}
void interleaved_to_float16(const ValueMap& map, const std::uint8_t* from, std::size_t count, Float16* to,
                            Destination how) {
  convert_to<kChannels>(map, 0, from, count, to, how);
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

HWY_EXPORT(plane_to_float);
HWY_EXPORT(plane_to_bfloat16);
HWY_EXPORT(plane_to_float16);
HWY_EXPORT(interleaved_to_float);
HWY_EXPORT(interleaved_to_bfloat16);
HWY_EXPORT(interleaved_to_float16);
HWY_EXPORT(copy_bypassing_cache_on_target);

void convert_plane(const ValueMap& map, int channel, const std::uint8_t* from, std::size_t count, float* to,
                   Destination how) {
  HWY_DYNAMIC_DISPATCH(plane_to_float)(map, channel, from, count, to, how);
}
void convert_plane(const ValueMap& map, int channel, const std::uint8_t* from, std::size_t count, Bfloat16* to,
                   Destination how) {
  HWY_DYNAMIC_DISPATCH(plane_to_bfloat16)(map, channel, from, count, to, how);
}
void convert_plane(const ValueMap& map, int channel, const std::uint8_t* from, std::size_t count, Float16* to,
                   Destination how) {
  HWY_DYNAMIC_DISPATCH(plane_to_float16)(map, channel, from, count, to, how);
}
void convert_interleaved(const ValueMap& map, const std::uint8_t* from, std::size_t count, float* to, Destination how) {
  HWY_DYNAMIC_DISPATCH(interleaved_to_float)(map, from, count, to, how);
}
void convert_interleaved(const ValueMap& map, const std::uint8_t* from, std::size_t count, Bfloat16* to,
                         Destination how) {
  HWY_DYNAMIC_DISPATCH(interleaved_to_bfloat16)(map, from, count, to, how);
}
void convert_interleaved(const ValueMap& map, const std::uint8_t* from, std::size_t count, Float16* to,
                         Destination how) {
  HWY_DYNAMIC_DISPATCH(interleaved_to_float16)(map, from, count, to, how);
}

void copy_bypassing_cache(const std::uint8_t* from, std::size_t count, std::uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(copy_bypassing_cache_on_target)(from, count, to);
}

void finish_streaming() noexcept { hwy::FlushStream(); }

}  // namespace unstarve
#endif
