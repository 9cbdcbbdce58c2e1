#pragma once
// One pixel at a fractional position (sampling.h): the reference for the vector kernels of sampling.cpp, and the code
// that runs on a GPU. Threads: pure.

#include <algorithm>
#include <cstdint>

#include "unstarve/core/image.h"
#include "unstarve/ops/base/host_device.h"
#include "unstarve/ops/geometry/sampling.h"

namespace unstarve::sampling {

constexpr std::int32_t kHalf = 1 << (kPositionBits - 1);
constexpr int kWeightBits = 11;  // twice that and 8 of the pixel fit into 31
constexpr std::int32_t kRound = 1 << (2 * kWeightBits - 1);

// Image: a type with width, height and pixel(column, row).
template <class Image>
UNSTARVE_HD inline Rgb at(const Image& image, std::int32_t x, std::int32_t y, const Warping& warping) {
  const std::int32_t column = (x + kHalf) >> kPositionBits, row = (y + kHalf) >> kPositionBits;
  if (column < 0 || row < 0 || column >= image.width || row >= image.height) return warping.fill;
  if (warping.interpolation == Interpolation::kNearest) return image.pixel(column, row);
  const std::int32_t left = x >> kPositionBits, top = y >> kPositionBits;
  const std::int32_t x0 = std::max(left, 0), x1 = std::min(left + 1, image.width - 1);
  const std::int32_t y0 = std::max(top, 0), y1 = std::min(top + 1, image.height - 1);
  constexpr std::int32_t kWeight = (1 << kWeightBits) - 1;
  const std::int32_t right = x >> (kPositionBits - kWeightBits) & kWeight;
  const std::int32_t below = y >> (kPositionBits - kWeightBits) & kWeight;
  const Rgb upper_left = image.pixel(x0, y0), upper_right = image.pixel(x1, y0);
  const Rgb lower_left = image.pixel(x0, y1), lower_right = image.pixel(x1, y1);
  Rgb pixel{};
  for (std::size_t c = 0; c < kChannels; ++c) {
    const std::int32_t upper = (upper_left[c] << kWeightBits) + right * (upper_right[c] - upper_left[c]);
    const std::int32_t lower = (lower_left[c] << kWeightBits) + right * (lower_right[c] - lower_left[c]);
    pixel[c] =
        static_cast<std::uint8_t>(((upper << kWeightBits) + below * (lower - upper) + kRound) >> (2 * kWeightBits));
  }
  return pixel;
}

}  // namespace unstarve::sampling
