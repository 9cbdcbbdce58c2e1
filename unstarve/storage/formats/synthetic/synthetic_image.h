#pragma once
// Draws one image of the synthetic set: a textured shape among clutter, different in everything that does not matter.
//
// What decides the class: the shape and its texture (see synthetic_shapes.h). What varies freely: all colours,
// position, scale, rotation, the background and its clutter, light falling from one side, occluding strokes, grain.
// Colours carry no information, so that a mean colour does not give the class away; a small convolutional network
// learns it.
//
// Function:  the pixels depend on (seed, id, classes, size) and nothing else; equal for equal builds.
// Threads:   pure apart from `out`. Cost: about 40 ns per pixel at 500 pixels, 150 ns at 32, where 4 samples
//            per pixel keep the shapes readable.

#include <cstdint>

#include "unstarve/core/image.h"

namespace unstarve {

struct SyntheticSet {
  std::uint64_t seed = 1;
  int classes = 10;
};

// Samples go round the classes, so that any number of them is balanced.
[[nodiscard]] inline int synthetic_label(const SyntheticSet& set, std::uint64_t id) noexcept {
  return static_cast<int>(id % static_cast<std::uint64_t>(set.classes));
}

// Test images are samples like any other, of ids that no training set reaches.
inline constexpr std::uint64_t kSyntheticTestBegin = std::uint64_t{1} << 40;

// Draws sample `id` at `size` into `out`. Throws Error(kArgument) for a size below 8 or a number of classes outside
// 1..kSyntheticMaxClasses.
void draw_synthetic(const SyntheticSet& set, std::uint64_t id, Size size, Image& out);

}  // namespace unstarve
