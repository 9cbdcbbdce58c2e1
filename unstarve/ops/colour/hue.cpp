// Shifts the hue and keeps the lightness: torchvision's ColorJitter(hue).

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/colour/colour_operation.h"
#include "unstarve/ops/colour/colours.h"

namespace unstarve {

void adjust_hue(Frame& frame, double shift, Scratch& scratch) { chain_of(frame, scratch).add_hue(shift); }

std::unique_ptr<Operation> make_hue(const OpParams& params) {
  const Parameters p("hue", params, {"shift", "probability"});
  return std::make_unique<DrawnColour>(adjust_hue, p.interval("shift", {-0.1, 0.1}, -0.5, 0.5),
                                       p.number("probability", 1, 0, 1));
}

}  // namespace unstarve
