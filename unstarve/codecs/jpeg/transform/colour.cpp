#include "unstarve/codecs/jpeg/transform/colour.h"

#include <algorithm>
#include <cstring>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/codecs/jpeg/transform/colour.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

#include "unstarve/core/simd_bytes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

// Machines without SSE4: plain loops.

std::uint8_t clamped(int value) { return static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value); }

void run_2x1(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* s = in + i;
    out[2 * i] = static_cast<std::uint8_t>((3 * s[0] + s[-1] + 1) >> 2);
    out[2 * i + 1] = static_cast<std::uint8_t>((3 * s[0] + s[1] + 2) >> 2);
  }
}
void run_1x2(const std::uint8_t* near, const std::uint8_t* far, int bias, std::size_t count, std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint8_t>((3 * near[i] + far[i] + bias) >> 2);
}
void run_2x2(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, std::uint16_t*, std::uint8_t* out) {
  const auto sum = [&](std::ptrdiff_t i) { return 3 * near[i] + far[i]; };
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(count); ++i) {
    out[2 * i] = static_cast<std::uint8_t>((3 * sum(i) + sum(i - 1) + 8) >> 4);
    out[2 * i + 1] = static_cast<std::uint8_t>((3 * sum(i) + sum(i + 1) + 7) >> 4);
  }
}
void run_rgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::size_t count,
             std::uint8_t* rgb) {
  for (std::size_t i = 0; i < count; ++i, rgb += 3) {
    const int b = cb[i] - 128, r = cr[i] - 128;
    rgb[0] = clamped(y[i] + ((91881 * r + 32768) >> 16));
    rgb[1] = clamped(y[i] + ((-22554 * b - 46802 * r + 32768) >> 16));
    rgb[2] = clamped(y[i] + ((116130 * b + 32768) >> 16));
  }
}
void run_grey(const std::uint8_t* grey, std::size_t count, std::uint8_t* rgb) {
  for (std::size_t i = 0; i < count; ++i, rgb += 3) rgb[0] = rgb[1] = rgb[2] = grey[i];
}

#else

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBytes = HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64;
using D8 = hn::FixedTag<std::uint8_t, kBytes>;
using D8H = hn::FixedTag<std::uint8_t, kBytes / 2>;
using D16 = hn::FixedTag<std::int16_t, kBytes / 2>;
using DU16 = hn::FixedTag<std::uint16_t, kBytes / 2>;
using D32 = hn::FixedTag<std::int32_t, kBytes / 4>;
using V8 = hn::VFromD<D8>;
using V16 = hn::VFromD<D16>;
using VU16 = hn::VFromD<DU16>;
constexpr std::size_t kStep = kBytes / 2;
static_assert(kBytes <= kRowSlack);

HWY_INLINE VU16 widened(const std::uint8_t* p) { return hn::PromoteTo(DU16(), hn::LoadU(D8H(), p)); }
HWY_INLINE VU16 thrice(VU16 v) { return hn::Add(v, hn::Add(v, v)); }

// Interleaves even and odd samples (0..255 in 16 bits).
HWY_INLINE void store_pairs(VU16 even, VU16 odd, std::uint8_t* out) {
  hn::StoreU(hn::BitCast(D8(), hn::Or(even, hn::ShiftLeft<8>(odd))), D8(), out);
}

void run_2x1(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  const VU16 one = hn::Set(DU16(), 1);
  const VU16 two = hn::Set(DU16(), 2);
  for (std::size_t i = 0; i < count; i += kStep) {
    const VU16 centre = thrice(widened(in + i));
    const VU16 even = hn::ShiftRight<2>(hn::Add(hn::Add(centre, widened(in + i - 1)), one));
    const VU16 odd = hn::ShiftRight<2>(hn::Add(hn::Add(centre, widened(in + i + 1)), two));
    store_pairs(even, odd, out + 2 * i);
  }
}

void run_1x2(const std::uint8_t* near, const std::uint8_t* far, int bias, std::size_t count, std::uint8_t* out) {
  const VU16 rounding = hn::Set(DU16(), static_cast<std::uint16_t>(bias));
  for (std::size_t i = 0; i < count; i += kStep) {
    const VU16 sum = hn::Add(hn::Add(thrice(widened(near + i)), widened(far + i)), rounding);
    hn::StoreU(hn::DemoteTo(D8H(), hn::BitCast(D16(), hn::ShiftRight<2>(sum))), D8H(), out + i);
  }
}

void run_2x2(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, std::uint16_t* sums,
             std::uint8_t* out) {
  const VU16 eight = hn::Set(DU16(), 8);
  const VU16 seven = hn::Set(DU16(), 7);
  for (std::size_t i = 0; i < count + 2; i += kStep) {
    hn::StoreU(hn::Add(thrice(widened(near + i - 1)), widened(far + i - 1)), DU16(), sums + i);
  }
  for (std::size_t i = 0; i < count; i += kStep) {
    const VU16 centre = thrice(hn::LoadU(DU16(), sums + i + 1));
    const VU16 even = hn::ShiftRight<4>(hn::Add(hn::Add(centre, hn::LoadU(DU16(), sums + i)), eight));
    const VU16 odd = hn::ShiftRight<4>(hn::Add(hn::Add(centre, hn::LoadU(DU16(), sums + i + 2)), seven));
    store_pairs(even, odd, out + 2 * i);
  }
}

struct Rgb16 {
  V16 r, g, b;
};

// With x = chroma - 128, and every factor split into an integer and a remainder below 1/2 that fits 16 bits:
//   R - Y = x + round(26345 x / 2^16)          26345 = 91881 - 2^16; by a rounding multiplication, 13173 = 26346 / 2
//   B - Y = 2 x - round(14942 x / 2^16)        14942 = 2^17 - 116130; 7471 = 14942 / 2
//   G - Y = -cr + ((-22554 cb + 18734 cr + 2^15) >> 16)
// The tests compare them with the definition for all 2^16 pairs.
HWY_INLINE Rgb16 convert(V16 y, V16 cb_sample, V16 cr_sample) {
  const V16 centre = hn::Set(D16(), 128);
  const V16 cb = hn::Sub(cb_sample, centre);
  const V16 cr = hn::Sub(cr_sample, centre);
  const V16 r = hn::Add(hn::Add(y, cr), hn::MulFixedPoint15(cr, hn::Set(D16(), 13173)));
  const V16 b = hn::Add(hn::Add(y, hn::Add(cb, cb)), hn::MulFixedPoint15(cb, hn::Set(D16(), -7471)));

  const V16 factors = hn::BitCast(D16(), hn::Set(D32(), static_cast<std::int32_t>(18734u << 16 | (-22554 & 0xFFFF))));
  const auto half = hn::Set(D32(), 32768);
  const auto product = [&](V16 pairs) HWY_ATTR {
    auto second = hn::Zero(D32());
    const auto first = hn::ReorderWidenMulAccumulate(D32(), pairs, factors, hn::Zero(D32()), second);
    return hn::ShiftRight<16>(hn::Add(hn::RearrangeToOddPlusEven(first, second), half));
  };
  const V16 rest = hn::ReorderDemote2To(D16(), product(hn::InterleaveLower(D16(), cb, cr)),
                                        product(hn::InterleaveUpper(D16(), cb, cr)));
  const V16 g = hn::Add(hn::Sub(y, cr), rest);
  return {r, g, b};
}

// Widens the bytes of each 128-bit part's lower and upper half, and converts both back with saturation.
HWY_INLINE V16 lower(V8 v) { return hn::BitCast(D16(), hn::InterleaveLower(D8(), v, hn::Zero(D8()))); }
HWY_INLINE V16 upper(V8 v) { return hn::BitCast(D16(), hn::InterleaveUpper(D8(), v, hn::Zero(D8()))); }
HWY_INLINE V8 joined(V16 low, V16 high) { return to_bytes(D8(), low, high); }

// kBytes pixels.
HWY_INLINE void convert(const std::uint8_t* y_row, const std::uint8_t* cb_row, const std::uint8_t* cr_row,
                        std::uint8_t* rgb) {
  const V8 y = hn::LoadU(D8(), y_row);
  const V8 cb = hn::LoadU(D8(), cb_row);
  const V8 cr = hn::LoadU(D8(), cr_row);
  const Rgb16 low = convert(lower(y), lower(cb), lower(cr));
  const Rgb16 high = convert(upper(y), upper(cb), upper(cr));
  store_interleaved(D8(), joined(low.r, high.r), joined(low.g, high.g), joined(low.b, high.b), rgb);
}

void run_rgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::size_t count,
             std::uint8_t* rgb) {
  std::size_t i = 0;
  for (; i + kBytes <= count; i += kBytes) convert(y + i, cb + i, cr + i, rgb + 3 * i);
  if (i == count) return;
  alignas(64) std::uint8_t rest[3 * kBytes];
  convert(y + i, cb + i, cr + i, rest);
  std::memcpy(rgb + 3 * i, rest, 3 * (count - i));
}

void run_grey(const std::uint8_t* grey, std::size_t count, std::uint8_t* rgb) {
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    const auto v = hn::LoadU(D8H(), grey + i);
    hn::StoreInterleaved3(v, v, v, D8H(), rgb + 3 * i);
  }
  for (; i < count; ++i) rgb[3 * i] = rgb[3 * i + 1] = rgb[3 * i + 2] = grey[i];
}

#endif

}  // namespace

void upsample_2x1_on_target(const std::uint8_t* samples, std::size_t count, std::uint8_t* out) {
  run_2x1(samples, count, out);
}
void upsample_1x2_on_target(const std::uint8_t* near, const std::uint8_t* far, int bias, std::size_t count,
                            std::uint8_t* out) {
  run_1x2(near, far, bias, count, out);
}
void upsample_2x2_on_target(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, std::uint16_t* sums,
                            std::uint8_t* out) {
  run_2x2(near, far, count, sums, out);
}
void ycc_to_rgb_on_target(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::size_t count,
                          std::uint8_t* rgb) {
  run_rgb(y, cb, cr, count, rgb);
}
void grey_to_rgb_on_target(const std::uint8_t* grey, std::size_t count, std::uint8_t* rgb) {
  run_grey(grey, count, rgb);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {
namespace {
HWY_EXPORT(upsample_2x1_on_target);
HWY_EXPORT(upsample_1x2_on_target);
HWY_EXPORT(upsample_2x2_on_target);
HWY_EXPORT(ycc_to_rgb_on_target);
HWY_EXPORT(grey_to_rgb_on_target);
}  // namespace

void upsample_2x1(const std::uint8_t* samples, std::size_t count, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(upsample_2x1_on_target)(samples, count, out);
}
void repeat_2x1(const std::uint8_t* samples, std::size_t count, std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i) out[2 * i] = out[2 * i + 1] = samples[i];
}
void upsample_1x2(const std::uint8_t* near, const std::uint8_t* far, bool lower, std::size_t count, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(upsample_1x2_on_target)(near, far, lower ? 2 : 1, count, out);
}
void upsample_2x2(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, std::uint16_t* sums,
                  std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(upsample_2x2_on_target)(near, far, count, sums, out);
}
void ycc_to_rgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::size_t count,
                std::uint8_t* rgb) {
  HWY_DYNAMIC_DISPATCH(ycc_to_rgb_on_target)(y, cb, cr, count, rgb);
}
void grey_to_rgb(const std::uint8_t* grey, std::size_t count, std::uint8_t* rgb) {
  HWY_DYNAMIC_DISPATCH(grey_to_rgb_on_target)(grey, count, rgb);
}

}  // namespace unstarve
#endif
