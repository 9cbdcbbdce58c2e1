// Blends with grey: torchvision's ColorJitter(saturation), Pillow's ImageEnhance.Color.

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/colour/colour_operation.h"
#include "unstarve/ops/colour/colours.h"

namespace unstarve {

void adjust_saturation(Frame& frame, double factor, Scratch& scratch) {
  chain_of(frame, scratch).add_blend_grey(factor);
}

std::unique_ptr<Operation> make_saturation(const OpParams& params) {
  const Parameters p("saturation", params, {"factor", "probability"});
  return std::make_unique<DrawnColour>(adjust_saturation, p.interval("factor", {0.6, 1.4}, 0, kMaxBlend),
                                       p.number("probability", 1, 0, 1));
}

}  // namespace unstarve
