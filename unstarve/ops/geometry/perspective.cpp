// Random perspective: each corner moves inwards by a random part of the distance: torchvision's RandomPerspective.

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/paint.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/geometry/read_interpolation.h"
#include "unstarve/ops/geometry/warp.h"

namespace unstarve {
namespace {

class Perspective final : public Operation {
 public:
  Perspective(double distortion, double probability, Interpolation interpolation, const Rgb& fill)
      : distortion_(distortion), probability_(probability), interpolation_(interpolation), fill_(fill) {}

  [[nodiscard]] bool random() const override { return probability_ > 0; }
  [[nodiscard]] bool writes_pixels() const override { return true; }
  [[nodiscard]] bool runs_on_gpu() const override { return true; }
  Size output_size(Size selected) const override { return selected; }
  void apply(Frame& frame, Random& random, Scratch& scratch) const override {
    if (random.uniform() >= probability_) return;
    const double width = frame.width, height = frame.height;
    const auto part = [&](double side) { return random.uniform(0, distortion_) * side / 2; };
    const std::array<std::array<double, 2>, 4> corners = {{{0, 0}, {width, 0}, {width, height}, {0, height}}};
    std::array<std::array<double, 2>, 4> moved = corners;
    for (std::size_t i = 0; i < 4; ++i) {
      const double x = part(width), y = part(height);
      moved[i][0] += corners[i][0] > 0 ? -x : x;
      moved[i][1] += corners[i][1] > 0 ? -y : y;
    }
    warp(frame, perspective_mapping(corners, moved), interpolation_, fill_, scratch);
  }

 private:
  double distortion_, probability_;
  Interpolation interpolation_;
  Rgb fill_;
};

}  // namespace

std::unique_ptr<Operation> make_perspective(const OpParams& params) {
  const Parameters p("perspective", params, {"distortion", "probability", "interpolation", "fill"});
  // At 1 opposite corners could meet in the centre.
  return std::make_unique<Perspective>(p.number("distortion", 0.5, 0, 0.99), p.number("probability", 0.5, 0, 1),
                                       read_interpolation(p), read_fill(p));
}

}  // namespace unstarve
