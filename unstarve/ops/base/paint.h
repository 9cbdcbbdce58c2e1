#pragma once
// What covers a part of an image: one colour, or noise. Private to ops.
//
// Threads: pure; one at a time per scratch.

#include <array>
#include <cstdint>

#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/base/parameters.h"

namespace unstarve {

using Rgb = std::array<std::uint8_t, kChannels>;

struct Paint {
  Rgb colour{};
  bool noise = false;  // every value drawn evenly from 0..255
};

// The word that replace_means() replaces.
inline constexpr const char* kMeanWord = "mean";

// "fill: 114", "fill: [124, 116, 104]" or "fill: mean"; black when absent.
[[nodiscard]] Rgb read_fill(const Parameters& parameters);
// The same as "value", or "random"; "mean" when absent. A mean is black here, see replace_means().
[[nodiscard]] Paint read_paint(const Parameters& parameters);

// Covers `rect`, which lies within the frame. Noise takes its key from the generator.
void cover(Frame& frame, Rect rect, const Paint& paint, Random& random, Scratch& scratch);

}  // namespace unstarve
