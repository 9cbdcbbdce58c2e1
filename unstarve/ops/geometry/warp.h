#pragma once
// Affine and perspective transforms: each output pixel is sampled from the input at a mapped position.
//
// A Mapping maps positions of the output to positions of the input, in pixels with the origin at the upper left corner
// of the image, so that the centre of the first pixel is (0.5, 0.5):
//   u = (a x + b y + c) / (g x + h y + 1),  v = (d x + e y + f) / (g x + h y + 1).
//
// Threads: one at a time per scratch. Cost: a pass with gathers, after make_pixels() of the frame.

#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/geometry/sampling.h"

namespace unstarve {

class Parameters;

struct Mapping {
  double a = 1, b = 0, c = 0;
  double d = 0, e = 1, f = 0;
  double g = 0, h = 0;
};

// As the arguments of torchvision's affine().
struct AffineTransform {
  double degrees = 0;             // clockwise
  double move_x = 0, move_y = 0;  // pixels
  double scale = 1;
  double shear_x = 0, shear_y = 0;  // degrees
};

// The inverse of an affine transform about the centre of an image of `size`: sheared, rotated, scaled, then translated.
[[nodiscard]] Mapping affine_mapping(Size size, const AffineTransform& transform);
// Maps the corners `to` of the output to the corners `from` of the input: upper left, upper right, lower right, lower
// left, as (x, y). No three corners of `to` or of `from` may be collinear.
[[nodiscard]] Mapping perspective_mapping(const std::array<std::array<double, 2>, 4>& from,
                                          const std::array<std::array<double, 2>, 4>& to);

// Points `frame` to an image of `scratch` of the same size. Throws Error(kInput) for sides over kMaxSampledSide.
void warp(Frame& frame, const Mapping& mapping, const Warping& warping, Scratch& scratch);
// "interpolation" and "fill".
[[nodiscard]] Warping read_warping(const Parameters& parameters, Interpolation fallback = Interpolation::kBilinear);

}  // namespace unstarve
