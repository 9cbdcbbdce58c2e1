#pragma once
// The steps of a colour chain for one pixel: the reference for the host's vector kernels, and the code that runs on a
// GPU. Integer arithmetic: every machine gives the same bits.

#include <algorithm>
#include <array>
#include <cstdint>

#include "unstarve/core/image.h"
#include "unstarve/ops/base/host_device.h"
#include "unstarve/ops/base/point_chain.h"

namespace unstarve::point {

// A sixth of the colour circle.
constexpr std::int32_t kSectorBits = 12;
constexpr std::int32_t kSector = 1 << kSectorBits;
constexpr std::int32_t kCircle = 6 * kSector;

using Pixel = Rgb;

UNSTARVE_HD inline std::uint8_t clipped(std::int32_t value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0, 255));
}

UNSTARVE_HD inline Pixel blend_grey(Pixel pixel, std::int32_t weight) {
  const std::int32_t grey = luma(pixel[0], pixel[1], pixel[2]);
  for (std::uint8_t& value : pixel)
    value = clipped(((grey << kPointBits) + kPointSlack + weight * (value - grey)) >> kPointBits);
  return pixel;
}

// The hue is an angle on a circle of six sectors. Each channel is the largest value minus a part of the chroma that
// depends on the channel's distance on the circle (A. R. Smith, "Color gamut transform pairs", SIGGRAPH 1978).
UNSTARVE_HD inline Pixel shift_hue(Pixel pixel, std::int32_t shift) {
  const std::int32_t r = pixel[0], g = pixel[1], b = pixel[2];
  const std::int32_t most = std::max({r, g, b});
  const std::int32_t chroma = most - std::min({r, g, b});
  const std::int32_t sector = most == r ? 0 : most == g ? 2 * kSector : 4 * kSector;
  const std::int32_t difference = most == r ? g - b : most == g ? b - r : r - g;
  // One division and one multiplication by a power of two: bit-equal on every floating-point unit.
  const float part = static_cast<float>(difference) / static_cast<float>(std::max(chroma, 1));
  std::int32_t hue = sector + static_cast<std::int32_t>(part * static_cast<float>(kSector)) + shift;
  if (hue < 0) hue += kCircle;
  if (hue >= kCircle) hue -= kCircle;
  for (std::size_t c = 0; c < kChannels; ++c) {
    std::int32_t angle = hue + (5 - 2 * static_cast<std::int32_t>(c)) * kSector;
    if (angle >= kCircle) angle -= kCircle;
    const std::int32_t away = clamped(std::min(angle, 4 * kSector - angle), 0, kSector);
    pixel[c] = static_cast<std::uint8_t>(most - ((chroma * away + kSector / 2) >> kSectorBits));
  }
  return pixel;
}

// The channel that channel `c` of the result is copied from: two bits of `order` for each channel, the first lowest.
UNSTARVE_HD inline std::size_t source_of(std::int32_t order, std::size_t c) {
  return static_cast<std::size_t>(order >> (2 * c)) & 3U;
}

UNSTARVE_HD inline Pixel permute(Pixel pixel, std::int32_t order) {
  return {pixel[source_of(order, 0)], pixel[source_of(order, 1)], pixel[source_of(order, 2)]};
}

// One value blended with `from`: from + weight / 65536 * (value - from), truncated and clipped to 0..255.
UNSTARVE_HD inline std::uint8_t blended(std::int32_t value, std::int32_t from, std::int32_t weight) {
  const std::int64_t sum = (std::int64_t{from} << kPointBits) + kPointSlack + std::int64_t{weight} * (value - from);
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> kPointBits, 0, 255));
}

}  // namespace unstarve::point
