#pragma once
// What the steps of a colour chain make of one pixel: the definition that the vector kernels of the host are tested
// against, and the code that runs on a GPU. Integers, so that every machine gives the same bits.

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

using Pixel = std::array<std::uint8_t, kChannels>;

UNSTARVE_HD inline std::uint8_t clipped(std::int32_t value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0, 255));
}

UNSTARVE_HD inline Pixel blend_grey(Pixel pixel, std::int32_t weight) {
  const std::int32_t grey = luma(pixel[0], pixel[1], pixel[2]);
  for (std::uint8_t& value : pixel)
    value = clipped(((grey << kPointBits) + kPointSlack + weight * (value - grey)) >> kPointBits);
  return pixel;
}

// The hue is a place on the circle of six sectors; each channel is the largest value less as much of the chroma as its
// distance on the circle says (A. R. Smith, "Color gamut transform pairs", SIGGRAPH 1978).
UNSTARVE_HD inline Pixel shift_hue(Pixel pixel, std::int32_t shift) {
  const std::int32_t r = pixel[0], g = pixel[1], b = pixel[2];
  const std::int32_t most = std::max({r, g, b});
  const std::int32_t chroma = most - std::min({r, g, b});
  const std::int32_t sector = most == r ? 0 : most == g ? 2 * kSector : 4 * kSector;
  const std::int32_t difference = most == r ? g - b : most == g ? b - r : r - g;
  // A division and a multiplication by a power of two: the same in every floating-point unit.
  const float part = static_cast<float>(difference) / static_cast<float>(std::max(chroma, 1));
  std::int32_t hue = sector + static_cast<std::int32_t>(part * static_cast<float>(kSector)) + shift;
  if (hue < 0) hue += kCircle;
  if (hue >= kCircle) hue -= kCircle;
  for (std::size_t c = 0; c < kChannels; ++c) {
    std::int32_t place = hue + (5 - 2 * static_cast<std::int32_t>(c)) * kSector;
    if (place >= kCircle) place -= kCircle;
    const std::int32_t away = clamped(std::min(place, 4 * kSector - place), 0, kSector);
    pixel[c] = static_cast<std::uint8_t>(most - ((chroma * away + kSector / 2) >> kSectorBits));
  }
  return pixel;
}

// One value of a blend with `from`: from + weight / 65536 * (value - from), the fraction cut off, within 0..255.
UNSTARVE_HD inline std::uint8_t blended(std::int32_t value, std::int32_t from, std::int32_t weight) {
  const std::int64_t sum = (std::int64_t{from} << kPointBits) + kPointSlack + std::int64_t{weight} * (value - from);
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> kPointBits, 0, 255));
}

}  // namespace unstarve::point
