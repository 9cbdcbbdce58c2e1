#pragma once
// What operations ask of a whole image before they change it: its mean luma, how often each value occurs, the least and
// the largest.
//
// All of the frame's window counts, as it looks: with the colours that are put off, and with fill. Threads: pure.
// Cost: one more pass over the pixels, without memory beside the stack.

#include <array>
#include <cstdint>

#include "unstarve/ops/base/frame.h"

namespace unstarve {

// Of [channel][value].
using Histograms = std::array<std::array<std::uint32_t, 256>, kChannels>;

[[nodiscard]] Histograms histograms(const Frame& frame);
struct Extremes {
  std::array<std::uint8_t, kChannels> least, most;
};
// Of an empty frame 255 and 0.
[[nodiscard]] Extremes extremes(const Frame& frame);
// Rounded to the nearest integer, halves up.
[[nodiscard]] int mean_luma(const Frame& frame);

}  // namespace unstarve
