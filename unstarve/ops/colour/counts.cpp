#include "unstarve/ops/colour/counts.h"

#include <algorithm>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/ops/colour/counts.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

#include "unstarve/ops/base/point_chain.h"
#include "unstarve/ops/base/window.h"

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {

std::uint64_t luma_sum_on_target(const std::uint8_t* r, const std::uint8_t* g, const std::uint8_t* b,
                                 std::size_t count) {
  std::uint64_t total = 0;
  std::size_t x = 0;
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr std::size_t kPixels = (HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64) / 4;
  const hn::FixedTag<std::int32_t, kPixels> d;
  const hn::FixedTag<std::uint8_t, kPixels> d8;
  const auto load = [&](const std::uint8_t* from) HWY_ATTR { return hn::PromoteTo(d, hn::LoadU(d8, from)); };
  auto sum = hn::Zero(d);  // a stage holds too few pixels for an overflow
  for (; x + kPixels <= count; x += kPixels) {
    const auto red_green = hn::Add(hn::Mul(load(r + x), hn::Set(d, 19595)), hn::Mul(load(g + x), hn::Set(d, 38470)));
    const auto blue = hn::Add(hn::Mul(load(b + x), hn::Set(d, 7471)), hn::Set(d, 32768));
    sum = hn::Add(sum, hn::ShiftRight<16>(hn::Add(red_green, blue)));
  }
  alignas(64) std::int32_t lanes[kPixels];
  hn::Store(sum, d, lanes);
  for (const std::int32_t lane : lanes) total += static_cast<std::uint32_t>(lane);
#endif
  for (; x < count; ++x) total += static_cast<std::uint64_t>(luma(r[x], g[x], b[x]));
  return total;
}

void widen_on_target(const std::uint8_t* values, std::size_t count, std::uint8_t* least, std::uint8_t* most) {
  std::uint8_t low = *least, high = *most;
  std::size_t x = 0;
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr std::size_t kBytes = HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64;
  const hn::FixedTag<std::uint8_t, kBytes> d;
  auto lows = hn::Set(d, low), highs = hn::Set(d, high);
  for (; x + kBytes <= count; x += kBytes) {
    const auto some = hn::LoadU(d, values + x);
    lows = hn::Min(lows, some);
    highs = hn::Max(highs, some);
  }
  alignas(64) std::uint8_t lanes[2][kBytes];
  hn::Store(lows, d, lanes[0]);
  hn::Store(highs, d, lanes[1]);
  low = *std::min_element(lanes[0], lanes[0] + kBytes);
  high = *std::max_element(lanes[1], lanes[1] + kBytes);
#endif
  for (; x < count; ++x) {
    low = std::min(low, values[x]);
    high = std::max(high, values[x]);
  }
  *least = low;
  *most = high;
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {
namespace {

HWY_EXPORT(luma_sum_on_target);
HWY_EXPORT(widen_on_target);

constexpr int kStage = 4096;

// Calls visit(r, g, b, count) for all pixels of the window, in parts of any order.
template <class Visit>
void visit_pixels(const Frame& frame, const Visit& visit) {
  alignas(64) std::uint8_t stage[kChannels][kStage + 64];
  const int strip = std::min(frame.width, kStage);
  const int rows_per_step = kStage / strip;
  for (int x = 0; x < frame.width; x += strip) {
    Frame part = frame;
    part.crop({x, 0, std::min(strip, frame.width - x), frame.height});
    for (int y = 0; y < frame.height; y += rows_per_step) {
      const int rows = std::min(rows_per_step, frame.height - y);
      copy_window(part, y, rows, {stage[0], part.width, kStage + 64});
      visit(stage[0], stage[1], stage[2], static_cast<std::size_t>(part.width) * static_cast<std::size_t>(rows));
    }
  }
}

}  // namespace

Histograms histograms(const Frame& frame) {
  // Two histograms, so that equal neighbours do not depend on each other.
  Histograms counts{}, others{};
  visit_pixels(frame, [&](const std::uint8_t* r, const std::uint8_t* g, const std::uint8_t* b, std::size_t count) {
    const std::array<const std::uint8_t*, kChannels> planes{r, g, b};
    for (std::size_t c = 0; c < kChannels; ++c) {
      std::size_t x = 0;
      for (; x + 2 <= count; x += 2) {
        ++counts[c][planes[c][x]];
        ++others[c][planes[c][x + 1]];
      }
      if (x < count) ++counts[c][planes[c][x]];
    }
  });
  for (std::size_t c = 0; c < kChannels; ++c) {
    for (std::size_t v = 0; v < 256; ++v) counts[c][v] += others[c][v];
  }
  return counts;
}

Extremes extremes(const Frame& frame) {
  Extremes found{{255, 255, 255}, {0, 0, 0}};
  visit_pixels(frame, [&](const std::uint8_t* r, const std::uint8_t* g, const std::uint8_t* b, std::size_t count) {
    const std::array<const std::uint8_t*, kChannels> planes{r, g, b};
    for (std::size_t c = 0; c < kChannels; ++c)
      HWY_DYNAMIC_DISPATCH(widen_on_target)(planes[c], count, &found.least[c], &found.most[c]);
  });
  return found;
}

int mean_luma(const Frame& frame) {
  std::uint64_t sum = 0;
  visit_pixels(frame, [&](const std::uint8_t* r, const std::uint8_t* g, const std::uint8_t* b, std::size_t count) {
    sum += HWY_DYNAMIC_DISPATCH(luma_sum_on_target)(r, g, b, count);
  });
  const auto pixels = static_cast<std::uint64_t>(frame.width) * static_cast<std::uint64_t>(frame.height);
  return pixels == 0 ? 0 : static_cast<int>((2 * sum + pixels) / (2 * pixels));
}

}  // namespace unstarve
#endif
