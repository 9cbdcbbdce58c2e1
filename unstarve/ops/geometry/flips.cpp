// Mirror left and right, or top and bottom, with a given probability: torchvision's RandomHorizontalFlip and
// RandomVerticalFlip. They move no pixel: the first sets a flag of the frame, the second reads the rows backwards.

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/same_size_operation.h"

namespace unstarve {

std::unique_ptr<Operation> make_horizontal_flip(const OpParams& params) {
  const Parameters p("horizontal_flip", params, {"probability"});
  return change_operation({.probability = p.number("probability", 0.5, 0, 1)},
                          [](Frame& frame, Random&, Scratch&) { frame.mirror(); });
}

std::unique_ptr<Operation> make_vertical_flip(const OpParams& params) {
  const Parameters p("vertical_flip", params, {"probability"});
  return change_operation({.probability = p.number("probability", 0.5, 0, 1)},
                          [](Frame& frame, Random&, Scratch&) { frame.flip_vertically(); });
}

}  // namespace unstarve
