// Mirrors left and right with a given probability, by setting a flag of the frame: torchvision's RandomHorizontalFlip.

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"

namespace unstarve {
namespace {

class HorizontalFlip final : public Operation {
 public:
  explicit HorizontalFlip(double probability) : probability_(probability) {}

  [[nodiscard]] bool random() const override { return true; }
  [[nodiscard]] bool runs_on_gpu() const override { return true; }
  Size output_size(Size selected) const override { return selected; }
  void apply(Frame& frame, Random& random, Scratch&) const override {
    if (random.uniform() < probability_) frame.mirror();
  }

 private:
  double probability_;
};

}  // namespace

std::unique_ptr<Operation> make_horizontal_flip(const OpParams& params) {
  const Parameters p("horizontal_flip", params, {"probability"});
  return std::make_unique<HorizontalFlip>(p.number("probability", 0.5, 0.0, 1.0));
}

}  // namespace unstarve
