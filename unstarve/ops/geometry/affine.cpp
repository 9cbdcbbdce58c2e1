// Random rotation, translation, scale and shear about the centre; the size stays: torchvision's RandomAffine.

#include <cmath>

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/same_size_operation.h"
#include "unstarve/ops/geometry/warp.h"

namespace unstarve {
namespace {

struct AffineRanges {
  std::pair<double, double> degrees, scale, shear_x, shear_y;
  double move_x, move_y;  // the largest translation, as parts of width and height
};

// Whether anything is drawn.
bool draws(const AffineRanges& of) {
  const auto wide = [](std::pair<double, double> range) { return range.first < range.second; };
  return of.move_x > 0 || of.move_y > 0 || wide(of.degrees) || wide(of.scale) || wide(of.shear_x) || wide(of.shear_y);
}

AffineTransform draw_transform(const AffineRanges& ranges, Size image, Random& random) {
  const auto draw = [&](std::pair<double, double> range) { return random.uniform(range.first, range.second); };
  // By whole pixels, as torchvision does.
  const auto move = [&](double most, int side) {
    return std::nearbyint(random.uniform(-most, most) * static_cast<double>(side));
  };
  AffineTransform drawn;  // the order of the draws is part of the result
  drawn.degrees = draw(ranges.degrees);
  drawn.move_x = move(ranges.move_x, image.width);
  drawn.move_y = move(ranges.move_y, image.height);
  drawn.scale = draw(ranges.scale);
  drawn.shear_x = draw(ranges.shear_x);
  drawn.shear_y = draw(ranges.shear_y);
  return drawn;
}

}  // namespace

std::unique_ptr<Operation> make_affine(const OpParams& params) {
  const Parameters p(
      "affine", params,
      {"degrees", "translate_x", "translate_y", "scale", "shear_x", "shear_y", "probability", "interpolation", "fill"});
  const AffineRanges ranges{p.interval("degrees", {-15, 15}, -360, 360), p.interval("scale", {0.9, 1.1}, 0.01, 100),
                            p.interval("shear_x", {0, 0}, -80, 80),      p.interval("shear_y", {0, 0}, -80, 80),
                            p.number("translate_x", 0.1, 0, 1),          p.number("translate_y", 0.1, 0, 1)};
  const double probability = p.number("probability", 1, 0, 1);
  const Warping warping = read_warping(p);
  return change_operation({probability, draws(ranges), true}, [=](Frame& frame, Random& random, Scratch& scratch) {
    const AffineTransform transform = draw_transform(ranges, frame.size(), random);
    warp(frame, affine_mapping(frame.size(), transform), warping, scratch);
  });
}

}  // namespace unstarve
