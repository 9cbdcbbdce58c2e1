#pragma once
// Tables of functions of 8 bits. Brightness blends with black, contrast with the mean. Private to this folder.

#include <cmath>
#include <cstdint>

#include "unstarve/ops/base/point_chain.h"
#include "unstarve/ops/base/point_pixel.h"

namespace unstarve {

// A factor in 0 .. kMaxBlend as a weight in 1/65536.
inline std::int32_t blend_weight(double factor) {
  return static_cast<std::int32_t>(std::lround(factor * (1 << kPointBits)));
}

// from + factor * (value - from), truncated and clipped to 0..255.
inline PointTable blend_table(std::int32_t from, double factor) {
  const std::int32_t weight = blend_weight(factor);
  PointTable table;
  for (std::int32_t value = 0; value < 256; ++value) {
    const std::uint8_t blended = point::blended(value, from, weight);
    for (auto& of : table.of) of[static_cast<std::size_t>(value)] = blended;
  }
  return table;
}

// The same function of 8 bits for every channel.
template <class Function>
PointTable table_of(const Function& function) {
  PointTable table;
  for (int value = 0; value < 256; ++value) {
    const auto to = static_cast<std::uint8_t>(function(value));
    for (auto& of : table.of) of[static_cast<std::size_t>(value)] = to;
  }
  return table;
}

}  // namespace unstarve
