#include "unstarve/ops/base/point_chain.h"

#include <algorithm>
#include <cmath>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/ops/base/point_chain.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/base/point_pixel.h"
#include "unstarve/ops/base/recorder.h"
#include "unstarve/ops/base/window.h"

#ifndef UNSTARVE_POINT_PIXEL
#define UNSTARVE_POINT_PIXEL
namespace unstarve::point {

inline Pixel run_step(const PointChain& chain, std::size_t i, Pixel pixel) {
  const PointChain::Step step = chain.steps()[i];
  switch (step.kind) {
    case PointChain::Kind::kTable: {
      const PointTable& table = chain.table(i);
      for (std::size_t c = 0; c < kChannels; ++c) pixel[c] = table.of[c][pixel[c]];
      return pixel;
    }
    case PointChain::Kind::kBlendGrey: return blend_grey(pixel, step.weight);
    case PointChain::Kind::kHue: return shift_hue(pixel, step.weight);
    case PointChain::Kind::kPermute: return permute(pixel, step.weight);
  }
  return pixel;
}

}  // namespace unstarve::point
#endif

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

using Planes = std::array<std::uint8_t*, kChannels>;

// The plain loop over pixels [first, count).
void run_plain(const PointChain& chain, std::size_t i, const Planes& planes, std::size_t first, std::size_t count) {
  for (std::size_t x = first; x < count; ++x) {
    const point::Pixel pixel = point::run_step(chain, i, {planes[0][x], planes[1][x], planes[2][x]});
    for (std::size_t c = 0; c < kChannels; ++c) planes[c][x] = pixel[c];
  }
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

std::size_t run_values(const PointTable&, std::uint8_t*, std::size_t) { return 0; }

void run(const PointChain& chain, const Planes& planes, std::size_t count) {
  for (std::size_t i = 0; i < chain.steps().size(); ++i) run_plain(chain, i, planes, 0, count);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBytes = HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64;
using D8 = hn::FixedTag<std::uint8_t, kBytes>;
using V8 = hn::VFromD<D8>;
// Pixels per vector of 32-bit lanes.
constexpr std::size_t kPixels = kBytes / 4;
using D32 = hn::FixedTag<std::int32_t, kPixels>;
using DF = hn::FixedTag<float, kPixels>;
using DQ = hn::FixedTag<std::uint8_t, kPixels>;
using V32 = hn::VFromD<D32>;

#if HWY_TARGET == HWY_AVX3_DL

// 256 entries in four registers: two permutations, then a blend by the highest bit of the index.
struct Table {
  __m512i quarter[4];
  explicit Table(const std::uint8_t* of) {
    for (int i = 0; i < 4; ++i) quarter[i] = _mm512_load_si512(of + 64 * i);
  }
  HWY_INLINE void look_up(std::uint8_t* at) const {
    const __m512i index = _mm512_loadu_si512(at);
    const __m512i low = _mm512_permutex2var_epi8(quarter[0], index, quarter[1]);
    const __m512i high = _mm512_permutex2var_epi8(quarter[2], index, quarter[3]);
    _mm512_storeu_si512(at, _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high));
  }
};

#else

// 256 entries in sixteen tables of sixteen. An index outside of a table gets its highest bit set, which gives 0. An
// index inside has 0x70 added: x86 ignores all but the lower four bits, other targets need 0..15.
struct Table {
  V8 part[16];
  explicit Table(const std::uint8_t* of) {
    for (std::size_t i = 0; i < 16; ++i) part[i] = hn::LoadDup128(D8(), of + 16 * i);
  }
  HWY_INLINE void look_up(std::uint8_t* at) const {
    const V8 sixteen = hn::Set(D8(), 16);
    const V8 outside = hn::Set(D8(), 0x70);
    V8 index = hn::LoadU(D8(), at);
    V8 found = hn::Zero(D8());
    for (const V8& sixteenth : part) {
      V8 lane = hn::SaturatedAdd(index, outside);
#if !HWY_ARCH_X86
      lane = hn::AndNot(outside, lane);
#endif
      found = hn::Or(found, hn::TableLookupBytesOr0(sixteenth, lane));
      index = hn::Sub(index, sixteen);
    }
    hn::StoreU(found, D8(), at);
  }
};

#endif

// Applies a table that is the same for all channels to `count` values.
std::size_t run_values(const PointTable& table, std::uint8_t* values, std::size_t count) {
  const std::size_t end = count - count % kBytes;
  const Table of(table.of[0].data());
  for (std::size_t x = 0; x < end; x += kBytes) of.look_up(values + x);
  return end;
}

std::size_t run_table(const PointTable& table, const Planes& planes, std::size_t count) {
  const std::size_t end = count - count % kBytes;
  for (std::size_t c = 0; c < kChannels; ++c) {
    const Table of(table.of[c].data());
    for (std::size_t x = 0; x < end; x += kBytes) of.look_up(planes[c] + x);
  }
  return end;
}

HWY_INLINE V32 load(const std::uint8_t* from) { return hn::PromoteTo(D32(), hn::LoadU(DQ(), from)); }
HWY_INLINE void store(V32 value, std::uint8_t* to) { hn::StoreU(hn::DemoteTo(DQ(), value), DQ(), to); }

std::size_t run_blend_grey(std::int32_t weight, const Planes& planes, std::size_t count) {
  const V32 r_weight = hn::Set(D32(), 19595), g_weight = hn::Set(D32(), 38470), b_weight = hn::Set(D32(), 7471);
  const V32 half = hn::Set(D32(), 32768), blend = hn::Set(D32(), weight);
  const V32 slack = hn::Set(D32(), kPointSlack);
  const std::size_t end = count - count % kPixels;
  for (std::size_t x = 0; x < end; x += kPixels) {
    const V32 r = load(planes[0] + x), g = load(planes[1] + x), b = load(planes[2] + x);
    const V32 sum = hn::Add(hn::Add(hn::Mul(r, r_weight), hn::Mul(g, g_weight)), hn::Add(hn::Mul(b, b_weight), half));
    const V32 grey = hn::ShiftRight<16>(sum);
    const V32 from = hn::Add(hn::ShiftLeft<kPointBits>(grey), slack);
    const auto blended = [&](V32 value) HWY_ATTR {
      return hn::ShiftRight<kPointBits>(hn::Add(from, hn::Mul(blend, hn::Sub(value, grey))));
    };
    store(blended(r), planes[0] + x);
    store(blended(g), planes[1] + x);
    store(blended(b), planes[2] + x);
  }
  return end;
}

std::size_t run_hue(std::int32_t shift, const Planes& planes, std::size_t count) {
  using namespace point;  // NOLINT: its constants
  const V32 zero = hn::Zero(D32()), one = hn::Set(D32(), 1);
  const V32 circle = hn::Set(D32(), kCircle), four = hn::Set(D32(), 4 * kSector), sector = hn::Set(D32(), kSector);
  const V32 shifted = hn::Set(D32(), shift), half = hn::Set(D32(), kSector / 2);
  const auto scale = hn::Set(DF(), static_cast<float>(kSector));
  const std::size_t end = count - count % kPixels;
  for (std::size_t x = 0; x < end; x += kPixels) {
    const V32 r = load(planes[0] + x), g = load(planes[1] + x), b = load(planes[2] + x);
    const V32 most = hn::Max(r, hn::Max(g, b));
    const V32 chroma = hn::Sub(most, hn::Min(r, hn::Min(g, b)));
    const auto is_r = hn::Eq(most, r);
    const auto is_g = hn::Eq(most, g);
    const V32 base =
        hn::IfThenElse(is_r, zero, hn::IfThenElse(is_g, hn::Set(D32(), 2 * kSector), hn::Set(D32(), 4 * kSector)));
    const V32 difference = hn::IfThenElse(is_r, hn::Sub(g, b), hn::IfThenElse(is_g, hn::Sub(b, r), hn::Sub(r, g)));
    const auto part = hn::Div(hn::ConvertTo(DF(), difference), hn::ConvertTo(DF(), hn::Max(chroma, one)));
    V32 hue = hn::Add(hn::Add(base, hn::ConvertTo(D32(), hn::Mul(part, scale))), shifted);
    hue = hn::IfThenElse(hn::Lt(hue, zero), hn::Add(hue, circle), hue);
    hue = hn::IfThenElse(hn::Lt(hue, circle), hue, hn::Sub(hue, circle));
    for (std::size_t c = 0; c < kChannels; ++c) {
      V32 angle = hn::Add(hue, hn::Set(D32(), (5 - 2 * static_cast<std::int32_t>(c)) * kSector));
      angle = hn::IfThenElse(hn::Lt(angle, circle), angle, hn::Sub(angle, circle));
      const V32 away = hn::Min(hn::Max(hn::Min(angle, hn::Sub(four, angle)), zero), sector);
      const V32 less = hn::ShiftRight<kSectorBits>(hn::Add(hn::Mul(chroma, away), half));
      store(hn::Sub(most, less), planes[c] + x);
    }
  }
  return end;
}

std::size_t run_permute(std::int32_t order, const Planes& planes, std::size_t count) {
  const Planes from{planes[point::source_of(order, 0)], planes[point::source_of(order, 1)],
                    planes[point::source_of(order, 2)]};
  const std::size_t end = count - count % kBytes;
  for (std::size_t x = 0; x < end; x += kBytes) {
    const V8 r = hn::LoadU(D8(), from[0] + x), g = hn::LoadU(D8(), from[1] + x), b = hn::LoadU(D8(), from[2] + x);
    hn::StoreU(r, D8(), planes[0] + x);
    hn::StoreU(g, D8(), planes[1] + x);
    hn::StoreU(b, D8(), planes[2] + x);
  }
  return end;
}

void run(const PointChain& chain, const Planes& planes, std::size_t count) {
  for (std::size_t i = 0; i < chain.steps().size(); ++i) {
    const PointChain::Step& step = chain.steps()[i];
    std::size_t done = 0;
    switch (step.kind) {
      case PointChain::Kind::kTable: done = run_table(chain.table(i), planes, count); break;
      case PointChain::Kind::kBlendGrey: done = run_blend_grey(step.weight, planes, count); break;
      case PointChain::Kind::kHue: done = run_hue(step.weight, planes, count); break;
      case PointChain::Kind::kPermute: done = run_permute(step.weight, planes, count); break;
    }
    run_plain(chain, i, planes, done, count);
  }
}

#endif

// Interleaved pixels are processed as planes of this many pixels, which stay in the first-level cache.
constexpr std::size_t kStage = 1024;

void split(const std::uint8_t* pixels, std::size_t count, const Planes& planes) {
  std::size_t x = 0;
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  for (; x + kBytes <= count; x += kBytes) {
    V8 r, g, b;
    hn::LoadInterleaved3(D8(), pixels + kChannels * x, r, g, b);
    hn::StoreU(r, D8(), planes[0] + x);
    hn::StoreU(g, D8(), planes[1] + x);
    hn::StoreU(b, D8(), planes[2] + x);
  }
#endif
  for (; x < count; ++x) {
    for (std::size_t c = 0; c < kChannels; ++c) planes[c][x] = pixels[kChannels * x + c];
  }
}

void merge(const Planes& planes, std::size_t count, std::uint8_t* pixels) {
  std::size_t x = 0;
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  for (; x + kBytes <= count; x += kBytes) {
    hn::StoreInterleaved3(hn::LoadU(D8(), planes[0] + x), hn::LoadU(D8(), planes[1] + x),
                          hn::LoadU(D8(), planes[2] + x), D8(), pixels + kChannels * x);
  }
#endif
  for (; x < count; ++x) {
    for (std::size_t c = 0; c < kChannels; ++c) pixels[kChannels * x + c] = planes[c][x];
  }
}

}  // namespace

void run_planes_on_target(const PointChain& chain, const Planes& planes, std::size_t count) {
  // All steps for one part before the next part, while the part is in the cache.
  for (std::size_t x = 0; x < count; x += kStage) {
    run(chain, {planes[0] + x, planes[1] + x, planes[2] + x}, std::min(kStage, count - x));
  }
}

void run_pixels_on_target(const PointChain& chain, std::uint8_t* pixels, std::size_t count) {
  if (chain.steps().size() == 1 && chain.steps()[0].same) {
    const PointTable& table = chain.table(0);
    for (std::size_t i = run_values(table, pixels, kChannels * count); i < kChannels * count; ++i)
      pixels[i] = table.of[0][pixels[i]];
    return;
  }
  alignas(64) std::uint8_t stage[kChannels][kStage];
  const Planes planes{stage[0], stage[1], stage[2]};
  for (std::size_t x = 0; x < count; x += kStage) {
    const std::size_t part = std::min(kStage, count - x);
    split(pixels + kChannels * x, part, planes);
    run(chain, planes, part);
    merge(planes, part, pixels + kChannels * x);
  }
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(run_planes_on_target);
HWY_EXPORT(run_pixels_on_target);

void PointChain::add_table(const PointTable& table) {
  if (count_ > 0 && steps_[count_ - 1].kind == Kind::kTable) {
    PointTable& before = tables_[count_ - 1];
    for (std::size_t c = 0; c < kChannels; ++c) {
      for (std::uint8_t& value : before.of[c]) value = table.of[c][value];
    }
  } else {
    tables_[count_] = table;
    steps_[count_++] = {Kind::kTable, 0};
  }
  const PointTable& last = tables_[count_ - 1];
  steps_[count_ - 1].same = last.of[0] == last.of[1] && last.of[0] == last.of[2];
}

void PointChain::add_blend_grey(double weight) {
  // 8 bits of difference, 7 bits of weight and 16 fractional bits.
  static_assert(kMaxBlend < 128 && 255 * 128LL << kPointBits <= INT32_MAX);
  steps_[count_++] = {Kind::kBlendGrey, static_cast<std::int32_t>(std::lround(weight * (1 << kPointBits)))};
}

void PointChain::add_hue(double shift) {
  auto weight = static_cast<std::int32_t>(std::lround(shift * point::kCircle)) % point::kCircle;
  if (weight < 0) weight += point::kCircle;
  steps_[count_++] = {Kind::kHue, weight};
}

void PointChain::add_permute(const std::array<std::uint8_t, kChannels>& order) {
  std::int32_t sources = 0;
  for (std::size_t c = 0; c < kChannels; ++c) sources |= order[c] << (2 * c);
  steps_[count_++] = {Kind::kPermute, sources};
}

PointChain& chain_of(Frame& frame, Scratch& scratch) {
  PointChain& chain = scratch.points();
  if (!frame.inside() || (frame.points != nullptr && chain.full())) {
    if (Recorder* recorder = scratch.recorder()) {
      recorder->make_pixels(frame);
    } else {
      make_pixels(frame, scratch);
    }
  }
  if (frame.points == nullptr) chain.clear();
  frame.points = &chain;
  return chain;
}

void run_chain(const PointChain& chain, const std::array<std::uint8_t*, kChannels>& planes, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(run_planes_on_target)(chain, planes, count);
}

void run_chain(const PointChain& chain, std::uint8_t* pixels, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(run_pixels_on_target)(chain, pixels, count);
}

std::array<std::uint8_t, kChannels> run_chain(const PointChain& chain, std::array<std::uint8_t, kChannels> pixel) {
  for (std::size_t i = 0; i < chain.steps().size(); ++i) pixel = point::run_step(chain, i, pixel);
  return pixel;
}

}  // namespace unstarve
#endif
