// Rotates about the centre by a random angle, counter-clockwise; the size stays: torchvision's RandomRotation.

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/paint.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/geometry/read_interpolation.h"
#include "unstarve/ops/geometry/warp.h"

namespace unstarve {
namespace {

class Rotation final : public Operation {
 public:
  Rotation(std::pair<double, double> degrees, double probability, Interpolation interpolation, const Rgb& fill)
      : degrees_(degrees), probability_(probability), interpolation_(interpolation), fill_(fill) {}

  [[nodiscard]] bool random() const override { return degrees_.first < degrees_.second || probability_ < 1; }
  [[nodiscard]] bool writes_pixels() const override { return true; }
  [[nodiscard]] bool runs_on_gpu() const override { return true; }
  Size output_size(Size selected) const override { return selected; }
  void apply(Frame& frame, Random& random, Scratch& scratch) const override {
    if (probability_ < 1 && random.uniform() >= probability_) return;
    const double degrees = random.uniform(degrees_.first, degrees_.second);
    warp(frame, affine_mapping(frame.size(), {.degrees = -degrees}), interpolation_, fill_, scratch);
  }

 private:
  std::pair<double, double> degrees_;
  double probability_;
  Interpolation interpolation_;
  Rgb fill_;
};

}  // namespace

std::unique_ptr<Operation> make_rotation(const OpParams& params) {
  const Parameters p("rotation", params, {"degrees", "probability", "interpolation", "fill"});
  return std::make_unique<Rotation>(p.interval("degrees", {-30, 30}, -360, 360), p.number("probability", 1, 0, 1),
                                    read_interpolation(p), read_fill(p));
}

}  // namespace unstarve
