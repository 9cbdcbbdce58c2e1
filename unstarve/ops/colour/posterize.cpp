// Fewer bits per value: Pillow's ImageOps.posterize, torchvision's RandomPosterize.

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/colour/colour_operation.h"
#include "unstarve/ops/colour/colours.h"
#include "unstarve/ops/colour/tables.h"

namespace unstarve {

void posterize(Frame& frame, int bits, Scratch& scratch) {
  const int mask = 0xFF & ~(0xFF >> bits);
  chain_of(frame, scratch).add_table(table_of([&](int value) { return value & mask; }));
}

std::unique_ptr<Operation> make_posterize(const OpParams& params) {
  const Parameters p("posterize", params, {"bits", "probability"});
  return std::make_unique<FixedColour>(posterize, p.integer("bits", 4, 1, 8), p.number("probability", 0.5, 0, 1));
}

}  // namespace unstarve
