// Mirrors top and bottom with a given probability, by reading the rows backwards: torchvision's RandomVerticalFlip.

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"

namespace unstarve {
namespace {

class VerticalFlip final : public Operation {
 public:
  explicit VerticalFlip(double probability) : probability_(probability) {}

  [[nodiscard]] bool random() const override { return probability_ > 0; }
  [[nodiscard]] bool runs_on_gpu() const override { return true; }
  Size output_size(Size selected) const override { return selected; }
  void apply(Frame& frame, Random& random, Scratch&) const override {
    if (random.uniform() < probability_) frame.flip_vertically();
  }

 private:
  double probability_;
};

}  // namespace

std::unique_ptr<Operation> make_vertical_flip(const OpParams& params) {
  const Parameters p("vertical_flip", params, {"probability"});
  return std::make_unique<VerticalFlip>(p.number("probability", 0.5, 0.0, 1.0));
}

}  // namespace unstarve
