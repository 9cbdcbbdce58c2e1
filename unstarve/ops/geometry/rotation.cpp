// Rotates about the centre by a random angle, counter-clockwise; the size stays: torchvision's RandomRotation.

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/same_size_operation.h"
#include "unstarve/ops/geometry/warp.h"

namespace unstarve {

std::unique_ptr<Operation> make_rotation(const OpParams& params) {
  const Parameters p("rotation", params, {"degrees", "probability", "interpolation", "fill"});
  const auto degrees = p.interval("degrees", {-30, 30}, -360, 360);
  const double probability = p.number("probability", 1, 0, 1);
  const Warping warping = read_warping(p);
  return change_operation({probability, degrees.first < degrees.second, true},
                          [=](Frame& frame, Random& random, Scratch& scratch) {
                            const double drawn = random.uniform(degrees.first, degrees.second);
                            warp(frame, affine_mapping(frame.size(), {.degrees = -drawn}), warping, scratch);
                          });
}

}  // namespace unstarve
