// Mirror left and right, or top and bottom, with a given probability: torchvision's RandomHorizontalFlip and
// RandomVerticalFlip. Or mirror left and right in every other epoch, which shows each image both ways in any two
// epochs: airbench94 (Jordan, arXiv:2404.00498). They move no pixel: left and right is a flag of the frame, top and
// bottom reads the rows backwards.

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/same_size_operation.h"

namespace unstarve {

std::unique_ptr<Operation> make_horizontal_flip(const OpParams& params) {
  const Parameters p("horizontal_flip", params, {"probability"});
  return change_operation({.probability = p.number("probability", 0.5, 0, 1)},
                          [](Frame& frame, Random&, Scratch&) { frame.mirror(); });
}

std::unique_ptr<Operation> make_alternating_flip(const OpParams& params) {
  const Parameters p("alternating_flip", params, {});
  return change_operation({.draws = true}, [](Frame& frame, Random& random, Scratch&) {
    const bool first = random.of_draw(0).uniform() < 0.5;
    if (first != (random.draw() % 2 == 1)) frame.mirror();
  });
}

std::unique_ptr<Operation> make_vertical_flip(const OpParams& params) {
  const Parameters p("vertical_flip", params, {"probability"});
  return change_operation({.probability = p.number("probability", 0.5, 0, 1)},
                          [](Frame& frame, Random&, Scratch&) { frame.flip_vertically(); });
}

}  // namespace unstarve
