// Replaces all three channels by the luma: torchvision's RandomGrayscale.

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/colour/colour_operation.h"
#include "unstarve/ops/colour/colours.h"

namespace unstarve {

void make_grey(Frame& frame, Scratch& scratch) { chain_of(frame, scratch).add_blend_grey(0); }

std::unique_ptr<Operation> make_grayscale(const OpParams& params) {
  const Parameters p("grayscale", params, {"probability"});
  return std::make_unique<PlainColour>(make_grey, p.number("probability", 0.1, 0, 1));
}

}  // namespace unstarve
