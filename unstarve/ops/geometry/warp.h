#pragma once
// An image drawn anew from where a mapping says each of its pixels comes from: affine and perspective transforms.
//
// A Mapping leads from the output to the input, in pixels with the origin at the image's upper left corner, so that the
// first pixel's middle is (0.5, 0.5):  u = (a x + b y + c) / (g x + h y + 1),  v = (d x + e y + f) / (g x + h y + 1).
//
// Threads: one at a time per scratch. Cost: a pass that gathers; the frame's pixels are made first.

#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/geometry/sampling.h"

namespace unstarve {

struct Mapping {
  double a = 1, b = 0, c = 0;
  double d = 0, e = 1, f = 0;
  double g = 0, h = 0;
};

// What torchvision's affine() does, as the way back: about the middle of an image of `size`, turned by `degrees`
// (clockwise), sheared by `shear_x` and `shear_y` degrees, made `scale` times as large, then moved by pixels.
[[nodiscard]] Mapping affine_mapping(Size size, double degrees, double move_x, double move_y, double scale,
                                     double shear_x, double shear_y);
// The mapping that takes the corners `to` of the output to the corners `from` of the input: upper left, upper right,
// lower right, lower left, (x, y) each. No three of a kind may lie on a line.
[[nodiscard]] Mapping perspective_mapping(const std::array<std::array<double, 2>, 4>& from,
                                          const std::array<std::array<double, 2>, 4>& to);

// Points `frame` to an image of `scratch` of the same size. Throws Error(kInput) for sides over kMaxSampledSide.
void warp(Frame& frame, const Mapping& mapping, Interpolation how, const std::array<std::uint8_t, kChannels>& fill,
          Scratch& scratch);

}  // namespace unstarve
