// Scales brightness: torchvision's ColorJitter(brightness), Pillow's ImageEnhance.Brightness.

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/colour/colour_operation.h"
#include "unstarve/ops/colour/colours.h"
#include "unstarve/ops/colour/tables.h"

namespace unstarve {

void adjust_brightness(Frame& frame, double factor, Scratch& scratch) {
  chain_of(frame, scratch).add_table(blend_table(0, factor));
}

std::unique_ptr<Operation> make_brightness(const OpParams& params) {
  const Parameters p("brightness", params, {"factor", "probability"});
  return std::make_unique<DrawnColour>(adjust_brightness, p.interval("factor", {0.6, 1.4}, 0, kMaxBlend),
                                       p.number("probability", 1, 0, 1));
}

}  // namespace unstarve
