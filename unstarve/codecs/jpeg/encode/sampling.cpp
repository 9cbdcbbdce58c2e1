#include "unstarve/codecs/jpeg/encode/sampling.h"

#include <algorithm>
#include <cstring>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/codecs/jpeg/encode/sampling.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

constexpr std::size_t kMcu = 16;  // pixels: the maximum that a component's blocks need

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

// Machines without SSE4: plain loops.

constexpr std::size_t kStep = 1;  // pixels

void convert(const std::uint8_t* rgb, std::uint8_t* y, std::uint8_t* cb, std::uint8_t* cr) {
  const int r = rgb[0], g = rgb[1], b = rgb[2];
  constexpr int kHalf = 32768;
  *y = static_cast<std::uint8_t>((19595 * r + 38470 * g + 7471 * b + kHalf) >> 16);
  *cb = static_cast<std::uint8_t>((-11059 * r - 21709 * g + 32768 * b + (128 << 16) + kHalf - 1) >> 16);
  *cr = static_cast<std::uint8_t>((32768 * r - 27439 * g - 5329 * b + (128 << 16) + kHalf - 1) >> 16);
}

void run_2x1(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  for (std::size_t i = 0; i < count / 2; ++i) {
    out[i] = static_cast<std::uint8_t>((in[2 * i] + in[2 * i + 1] + static_cast<int>(i % 2)) >> 1);
  }
}

void run_2x2(const std::uint8_t* upper, const std::uint8_t* lower, std::size_t count, std::uint8_t* out) {
  for (std::size_t i = 0; i < count / 2; ++i) {
    const int sum = upper[2 * i] + upper[2 * i + 1] + lower[2 * i] + lower[2 * i + 1];
    out[i] = static_cast<std::uint8_t>((sum + 1 + static_cast<int>(i % 2)) >> 2);
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBytes = HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64;
constexpr std::size_t kStep = kBytes;  // pixels
static_assert(kSampleStep % kStep == 0);
using D8 = hn::FixedTag<std::uint8_t, kBytes>;
using D8H = hn::FixedTag<std::uint8_t, kBytes / 2>;
using D16 = hn::FixedTag<std::int16_t, kBytes / 2>;
using DU16 = hn::FixedTag<std::uint16_t, kBytes / 2>;
using D32 = hn::FixedTag<std::int32_t, kBytes / 4>;
using DU32 = hn::FixedTag<std::uint32_t, kBytes / 4>;
using V8 = hn::VFromD<D8>;
using V16 = hn::VFromD<D16>;
using VU16 = hn::VFromD<DU16>;
using V32 = hn::VFromD<D32>;

// 16 bytes for each 128-bit part of a vector, 48 bytes (16 pixels) apart.
template <class D>
HWY_INLINE hn::VFromD<D> load_parts(D d, const std::uint8_t* p) {
  if constexpr (hn::MaxLanes(D()) == 16) {
    return hn::LoadU(d, p);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_parts(half, p + 3 * hn::MaxLanes(half)), load_parts(half, p));
  }
}

// Four pixels of each part: (R, G) and (B, G), 16 bits each.
struct Pixels {
  V16 rg;
  V16 bg;
};

// kAt: the offset of the first pixel in the 16 bytes.
template <int kAt>
HWY_INLINE Pixels pixels_of(V8 bytes) {
  constexpr std::uint8_t kZero = 0x80;
  constexpr auto at = [](int pixel, int channel) { return static_cast<std::uint8_t>(kAt + 3 * pixel + channel); };
  alignas(16) static constexpr std::uint8_t kRg[16] = {at(0, 0), kZero, at(0, 1), kZero, at(1, 0), kZero,
                                                       at(1, 1), kZero, at(2, 0), kZero, at(2, 1), kZero,
                                                       at(3, 0), kZero, at(3, 1), kZero};
  alignas(16) static constexpr std::uint8_t kBg[16] = {at(0, 2), kZero, at(0, 1), kZero, at(1, 2), kZero,
                                                       at(1, 1), kZero, at(2, 2), kZero, at(2, 1), kZero,
                                                       at(3, 2), kZero, at(3, 1), kZero};
  return {hn::BitCast(D16(), hn::TableLookupBytesOr0(bytes, hn::LoadDup128(D8(), kRg))),
          hn::BitCast(D16(), hn::TableLookupBytesOr0(bytes, hn::LoadDup128(D8(), kBg)))};
}

HWY_INLINE V16 factors(int even, int odd) {
  return hn::BitCast(
      D16(), hn::Set(D32(), static_cast<std::int32_t>((static_cast<std::uint32_t>(odd) << 16) | (even & 0xFFFF))));
}

HWY_INLINE V32 weighted(const Pixels& pixels, V16 rg, V16 bg) {
  V32 second = hn::Zero(D32());
  V32 first = hn::ReorderWidenMulAccumulate(D32(), pixels.rg, rg, hn::Zero(D32()), second);
  first = hn::ReorderWidenMulAccumulate(D32(), pixels.bg, bg, first, second);
  return hn::RearrangeToOddPlusEven(first, second);
}

// Bits 16..23 of four vectors of values below 2^24; each part's four pixels follow those of the previous vector.
HWY_INLINE V8 third_bytes(V32 v0, V32 v1, V32 v2, V32 v3) {
  const auto halves = [](V32 even, V32 odd) HWY_ATTR {  // bytes: even, 0, odd, 0
    const auto down = hn::BitCast(D16(), hn::ShiftRight<16>(hn::BitCast(DU32(), even)));
    return hn::OddEven(hn::BitCast(D16(), odd), down);
  };
  const V8 mixed = hn::BitCast(D8(), hn::Or(halves(v0, v1), hn::ShiftLeft<8>(halves(v2, v3))));
  alignas(16) static constexpr std::uint8_t kOrder[16] = {0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15};
  return hn::TableLookupBytes(mixed, hn::LoadDup128(D8(), kOrder));
}

void convert(const std::uint8_t* rgb, std::uint8_t* y, std::uint8_t* cb, std::uint8_t* cr) {
  const Pixels p0 = pixels_of<0>(load_parts(D8(), rgb));
  const Pixels p1 = pixels_of<0>(load_parts(D8(), rgb + 12));
  const Pixels p2 = pixels_of<0>(load_parts(D8(), rgb + 24));
  const Pixels p3 = pixels_of<4>(load_parts(D8(), rgb + 32));  // 36 would read past the end
  const auto luma = [&](const Pixels& p) HWY_ATTR {
    // G's factor 38470 does not fit 16 bits and is split between its two terms.
    const V32 sum = weighted(p, factors(19595, 38470 - 16384), factors(7471, 16384));
    return hn::Add(sum, hn::Set(D32(), 32768));
  };
  // Chroma is subtracted from its offset, because -32768 fits 16 bits and 32768 does not. Its rounding term is one less
  // than a half, as in libjpeg, so that 255.5 does not become 256.
  const V32 offset = hn::Set(D32(), (128 << 16) + 32767);
  const auto blue = [&](const Pixels& p)
                        HWY_ATTR { return hn::Sub(offset, weighted(p, factors(11059, 21709), factors(-32768, 0))); };
  const auto red = [&](const Pixels& p)
                       HWY_ATTR { return hn::Sub(offset, weighted(p, factors(-32768, 27439), factors(5329, 0))); };
  hn::StoreU(third_bytes(luma(p0), luma(p1), luma(p2), luma(p3)), D8(), y);
  hn::StoreU(third_bytes(blue(p0), blue(p1), blue(p2), blue(p3)), D8(), cb);
  hn::StoreU(third_bytes(red(p0), red(p1), red(p2), red(p3)), D8(), cr);
}

HWY_INLINE VU16 pair_sums(const std::uint8_t* in) {
  const VU16 v = hn::BitCast(DU16(), hn::LoadU(D8(), in));
  return hn::Add(hn::And(v, hn::Set(DU16(), 0xFF)), hn::ShiftRight<8>(v));
}

HWY_INLINE void store_narrow(VU16 v, std::uint8_t* out) {
  hn::StoreU(hn::DemoteTo(D8H(), hn::BitCast(D16(), v)), D8H(), out);
}

void run_2x1(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  const VU16 bias = hn::BitCast(DU16(), hn::Set(DU32(), 0x00010000));
  for (std::size_t i = 0; i < count; i += kStep) {
    store_narrow(hn::ShiftRight<1>(hn::Add(pair_sums(in + i), bias)), out + i / 2);
  }
}

void run_2x2(const std::uint8_t* upper, const std::uint8_t* lower, std::size_t count, std::uint8_t* out) {
  const VU16 bias = hn::BitCast(DU16(), hn::Set(DU32(), 0x00020001));
  for (std::size_t i = 0; i < count; i += kStep) {
    const VU16 sum = hn::Add(pair_sums(upper + i), pair_sums(lower + i));
    store_narrow(hn::ShiftRight<2>(hn::Add(sum, bias)), out + i / 2);
  }
}

#endif

}  // namespace

void rgb_to_ycc_on_target(const std::uint8_t* rgb, std::size_t count, std::uint8_t* y, std::uint8_t* cb,
                          std::uint8_t* cr) {
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) convert(rgb + 3 * i, y + i, cb + i, cr + i);
  const std::size_t end = (count + kMcu - 1) / kMcu * kMcu;
  if (i == end) return;
  const std::size_t left = count - i;
  std::uint8_t rest[3 * kSampleStep] = {};
  std::memcpy(rest, rgb + 3 * i, 3 * left);
  for (std::size_t x = left; x < end - i; ++x) std::memcpy(rest + 3 * x, rgb + 3 * (count - 1), 3);
  for (const std::uint8_t* from = rest; i < end; i += kStep, from += 3 * kStep) convert(from, y + i, cb + i, cr + i);
}

void average_2x1_on_target(const std::uint8_t* in, std::size_t count, std::uint8_t* out) { run_2x1(in, count, out); }
void average_2x2_on_target(const std::uint8_t* upper, const std::uint8_t* lower, std::size_t count, std::uint8_t* out) {
  run_2x2(upper, lower, count, out);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {
namespace {
HWY_EXPORT(rgb_to_ycc_on_target);
HWY_EXPORT(average_2x1_on_target);
HWY_EXPORT(average_2x2_on_target);
}  // namespace

void rgb_to_ycc(const std::uint8_t* rgb, std::size_t count, std::uint8_t* y, std::uint8_t* cb, std::uint8_t* cr) {
  HWY_DYNAMIC_DISPATCH(rgb_to_ycc_on_target)(rgb, count, y, cb, cr);
}
void average_2x1(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(average_2x1_on_target)(in, count, out);
}
void average_2x2(const std::uint8_t* upper, const std::uint8_t* lower, std::size_t count, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(average_2x2_on_target)(upper, lower, count, out);
}

}  // namespace unstarve
#endif
