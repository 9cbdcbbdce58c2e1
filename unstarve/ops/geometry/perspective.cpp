// Random perspective: each corner moves inwards by a random part of the distance: torchvision's RandomPerspective.

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/same_size_operation.h"
#include "unstarve/ops/geometry/warp.h"

namespace unstarve {

std::unique_ptr<Operation> make_perspective(const OpParams& params) {
  const Parameters p("perspective", params, {"distortion", "probability", "interpolation", "fill"});
  // At 1 opposite corners could meet in the centre.
  const double distortion = p.number("distortion", 0.5, 0, 0.99), probability = p.number("probability", 0.5, 0, 1);
  const Warping warping = read_warping(p);
  // A number is drawn for the probability even if it is 1.
  return change_operation(
      {.draws = probability > 0, .writes_pixels = true}, [=](Frame& frame, Random& random, Scratch& scratch) {
        if (random.uniform() >= probability) return;
        const double width = frame.width, height = frame.height;
        const auto part = [&](double side) { return random.uniform(0, distortion) * side / 2; };
        const std::array<std::array<double, 2>, 4> corners = {{{0, 0}, {width, 0}, {width, height}, {0, height}}};
        std::array<std::array<double, 2>, 4> moved = corners;
        for (std::size_t i = 0; i < 4; ++i) {
          const double x = part(width), y = part(height);
          moved[i][0] += corners[i][0] > 0 ? -x : x;
          moved[i][1] += corners[i][1] > 0 ? -y : y;
        }
        warp(frame, perspective_mapping(corners, moved), warping, scratch);
      });
}

}  // namespace unstarve
