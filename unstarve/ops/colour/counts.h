#pragma once
// Statistics of a whole image: mean luma, histograms, the least and the largest value.
//
// They cover the frame's window with its colour chain applied, and with fill. Threads: pure.
// Cost: one more pass over the pixels; memory only on the stack.

#include <array>
#include <cstdint>

#include "unstarve/ops/base/frame.h"

namespace unstarve {

// [channel][value].
using Histograms = std::array<std::array<std::uint32_t, 256>, kChannels>;

[[nodiscard]] Histograms histograms(const Frame& frame);
struct Extremes {
  std::array<std::uint8_t, kChannels> least, most;
};
// 255 and 0 for an empty frame.
[[nodiscard]] Extremes extremes(const Frame& frame);
// Rounded to the nearest integer, halves up.
[[nodiscard]] int mean_luma(const Frame& frame);

}  // namespace unstarve
