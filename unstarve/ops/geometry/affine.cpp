// Random rotation, translation, scale and shear about the centre; the size stays: torchvision's RandomAffine.

#include <cmath>

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/paint.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/geometry/read_interpolation.h"
#include "unstarve/ops/geometry/warp.h"

namespace unstarve {
namespace {

struct AffineRanges {
  std::pair<double, double> degrees, scale, shear_x, shear_y;
  double move_x, move_y;  // the largest translation, as parts of width and height
};

class Affine final : public Operation {
 public:
  Affine(const AffineRanges& ranges, double probability, Interpolation interpolation, const Rgb& fill)
      : ranges_(ranges), probability_(probability), interpolation_(interpolation), fill_(fill) {}

  [[nodiscard]] bool random() const override {
    const auto draws = [](std::pair<double, double> range) { return range.first < range.second; };
    return ranges_.move_x > 0 || ranges_.move_y > 0 || draws(ranges_.degrees) || draws(ranges_.scale) ||
           draws(ranges_.shear_x) || draws(ranges_.shear_y) || probability_ < 1;
  }
  [[nodiscard]] bool writes_pixels() const override { return true; }
  [[nodiscard]] bool runs_on_gpu() const override { return true; }
  Size output_size(Size selected) const override { return selected; }
  void apply(Frame& frame, Random& random, Scratch& scratch) const override {
    if (probability_ < 1 && random.uniform() >= probability_) return;
    const auto draw = [&](std::pair<double, double> range) { return random.uniform(range.first, range.second); };
    // By whole pixels, as torchvision does.
    const auto move = [&](double most, int side) {
      return std::nearbyint(random.uniform(-most, most) * static_cast<double>(side));
    };
    const double degrees = draw(ranges_.degrees);
    const double x = move(ranges_.move_x, frame.width), y = move(ranges_.move_y, frame.height);
    const double scale = draw(ranges_.scale), shear_x = draw(ranges_.shear_x), shear_y = draw(ranges_.shear_y);
    warp(frame, affine_mapping(frame.size(), {degrees, x, y, scale, shear_x, shear_y}), interpolation_, fill_, scratch);
  }

 private:
  AffineRanges ranges_;
  double probability_;
  Interpolation interpolation_;
  Rgb fill_;
};

}  // namespace

std::unique_ptr<Operation> make_affine(const OpParams& params) {
  const Parameters p(
      "affine", params,
      {"degrees", "translate_x", "translate_y", "scale", "shear_x", "shear_y", "probability", "interpolation", "fill"});
  const AffineRanges ranges{p.interval("degrees", {-15, 15}, -360, 360), p.interval("scale", {0.9, 1.1}, 0.01, 100),
                            p.interval("shear_x", {0, 0}, -80, 80),      p.interval("shear_y", {0, 0}, -80, 80),
                            p.number("translate_x", 0.1, 0, 1),          p.number("translate_y", 0.1, 0, 1)};
  return std::make_unique<Affine>(ranges, p.number("probability", 1, 0, 1), read_interpolation(p), read_fill(p));
}

}  // namespace unstarve
