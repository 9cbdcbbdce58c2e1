// The negative: Pillow's ImageOps.invert, torchvision's RandomInvert.

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/colour/colour_operation.h"
#include "unstarve/ops/colour/colours.h"
#include "unstarve/ops/colour/tables.h"

namespace unstarve {

void invert(Frame& frame, Scratch& scratch) {
  chain_of(frame, scratch).add_table(table_of([](int value) { return 255 - value; }));
}

std::unique_ptr<Operation> make_invert(const OpParams& params) {
  const Parameters p("invert", params, {"probability"});
  return std::make_unique<PlainColour>(invert, p.number("probability", 0.5, 0, 1));
}

}  // namespace unstarve
