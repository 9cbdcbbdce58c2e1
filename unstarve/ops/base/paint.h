#pragma once
// What covers a part of an image: one colour, or noise. Private to ops, but for write_out_means().
//
// Threads: pure; one at a time per scratch.

#include <array>
#include <cstdint>
#include <vector>

#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/base/op_value.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/store/store.h"

namespace unstarve {

using Rgb = std::array<std::uint8_t, kChannels>;

struct Paint {
  Rgb colour{};
  bool noise = false;  // every value drawn evenly from 0..255
};

// "fill: 114", "fill: [124, 116, 104]" or "fill: mean"; black when absent.
[[nodiscard]] Rgb read_fill(const Parameters& parameters);
// The same as "value", or "random"; "mean" when absent. A mean is black here, see write_out_means().
[[nodiscard]] Paint read_paint(const Parameters& parameters);
// Writes out what "mean" is where a parameter says so or leaves it at that: the pixel that is normalised to about 0,
// rounded to 8 bits. Black where nothing is normalised.
void write_out_means(std::vector<OpSpec>& operations, const Normalisation& normalisation);

// Covers `rect`, which lies within the frame. Noise takes its key from the generator.
void cover(Frame& frame, Rect rect, const Paint& paint, Random& random, Scratch& scratch);

}  // namespace unstarve
