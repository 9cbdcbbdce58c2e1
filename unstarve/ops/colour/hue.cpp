// Other colours of the same lightness: torchvision's ColorJitter(hue).

#include "unstarve/ops/colour/colour_operation.h"
#include "unstarve/ops/colour/colours.h"
#include "unstarve/ops/operation_list.h"
#include "unstarve/ops/parameters.h"

namespace unstarve {
namespace {

class Hue final : public ColourOperation {
 public:
  Hue(std::pair<double, double> turn, double probability)
      : ColourOperation(probability, turn.first < turn.second), turn_(turn) {}

 private:
  void change(Frame& frame, Random& random, Scratch& scratch) const override {
    adjust_hue(frame, random.uniform(turn_.first, turn_.second), scratch);
  }

  std::pair<double, double> turn_;
};

}  // namespace

void adjust_hue(Frame& frame, double turn, Scratch& scratch) { chain_of(frame, scratch).add_hue(turn); }

std::unique_ptr<Operation> make_hue(const OpParams& params) {
  const Parameters p("hue", params, {"turn", "probability"});
  return std::make_unique<Hue>(p.interval("turn", {-0.1, 0.1}, -0.5, 0.5), p.number("probability", 1, 0, 1));
}

}  // namespace unstarve
