#pragma once
// The table of a blend with one value: brightness blends with black, contrast with the mean. Private to this folder.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "unstarve/ops/colour/point_chain.h"

namespace unstarve {

// from + factor * (value - from), the fraction cut off, within 0..255.
inline PointTable blend_table(std::int64_t from, double factor) {
  const std::int64_t weight = std::lround(factor * (1 << kPointBits));
  PointTable table;
  for (std::int64_t value = 0; value < 256; ++value) {
    const std::int64_t blended = ((from << kPointBits) + kPointSlack + weight * (value - from)) >> kPointBits;
    const auto clipped = static_cast<std::uint8_t>(std::clamp<std::int64_t>(blended, 0, 255));
    for (auto& of : table.of) of[static_cast<std::size_t>(value)] = clipped;
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
