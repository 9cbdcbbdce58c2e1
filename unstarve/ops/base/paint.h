#pragma once
// Covers a part of an image with one colour or with noise. Private to ops.
//
// Threads: pure; one at a time per scratch.

#include <cstdint>

#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/base/parameters.h"

namespace unstarve {

struct Paint {
  Rgb colour{};
  bool noise = false;  // every value uniform in 0..255
};

// The word that replace_means() replaces.
inline constexpr const char* kMeanWord = "mean";

// "fill: 114", "fill: [124, 116, 104]" or "fill: mean"; black if absent.
[[nodiscard]] Rgb read_fill(const Parameters& parameters);
// The same under the name "value", or "random"; "mean" if absent. "mean" gives black: replace_means() comes before.
[[nodiscard]] Paint read_paint(const Parameters& parameters);

// Covers `rect`, which is inside of the frame. The key of the noise is drawn from `random`.
void cover(Frame& frame, Rect rect, const Paint& paint, Random& random, Scratch& scratch);

}  // namespace unstarve
