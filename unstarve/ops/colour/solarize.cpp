// Inverts values from a threshold on: Pillow's ImageOps.solarize, torchvision's RandomSolarize.

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/colour/colour_operation.h"
#include "unstarve/ops/colour/colours.h"
#include "unstarve/ops/colour/tables.h"

namespace unstarve {

void solarize(Frame& frame, int threshold, Scratch& scratch) {
  chain_of(frame, scratch).add_table(table_of([&](int value) { return value < threshold ? value : 255 - value; }));
}

std::unique_ptr<Operation> make_solarize(const OpParams& params) {
  const Parameters p("solarize", params, {"threshold", "probability"});
  return std::make_unique<FixedColour>(solarize, p.integer("threshold", 128, 0, 256),
                                       p.number("probability", 0.5, 0, 1));
}

}  // namespace unstarve
