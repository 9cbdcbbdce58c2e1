// Away from or towards grey: torchvision's ColorJitter(saturation), Pillow's ImageEnhance.Color.

#include "unstarve/ops/colour/colour_operation.h"
#include "unstarve/ops/colour/colours.h"
#include "unstarve/ops/operation_list.h"
#include "unstarve/ops/parameters.h"

namespace unstarve {
namespace {

class Saturation final : public ColourOperation {
 public:
  Saturation(std::pair<double, double> factor, double probability)
      : ColourOperation(probability, factor.first < factor.second), factor_(factor) {}

 private:
  void change(Frame& frame, Random& random, Scratch& scratch) const override {
    adjust_saturation(frame, random.uniform(factor_.first, factor_.second), scratch);
  }

  std::pair<double, double> factor_;
};

}  // namespace

void adjust_saturation(Frame& frame, double factor, Scratch& scratch) {
  chain_of(frame, scratch).add_blend_grey(factor);
}

std::unique_ptr<Operation> make_saturation(const OpParams& params) {
  const Parameters p("saturation", params, {"factor", "probability"});
  return std::make_unique<Saturation>(p.interval("factor", {0.6, 1.4}, 0, kMaxBlend), p.number("probability", 1, 0, 1));
}

}  // namespace unstarve
