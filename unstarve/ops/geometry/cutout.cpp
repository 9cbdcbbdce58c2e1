// Covers rectangles of a fixed size, clipped at the edges: DeVries and Taylor, "Improved regularization of
// convolutional neural networks with cutout", 2017. As in their code, centres are uniform over all pixels. Sides have
// the length requested; their code covers one pixel less if it is odd.

#include <algorithm>

#include "unstarve/ops/base/paint.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/same_size_operation.h"

namespace unstarve {

std::unique_ptr<Operation> make_cutout(const OpParams& params) {
  const Parameters p("cutout", params, {"size", "holes", "probability", "value"});
  const Size size = p.size("size");
  const int holes = p.integer("holes", 1, 1, 100);
  const double probability = p.number("probability", 1, 0, 1);
  const Paint paint = read_paint(p);
  // A number is drawn for the probability even if it is 1.
  return change_operation(
      {.draws = probability > 0, .writes_pixels = true}, [=](Frame& frame, Random& random, Scratch& scratch) {
        if (random.uniform() >= probability) return;
        const Size image = frame.size();
        for (int hole = 0; hole < holes; ++hole) {
          const int y = static_cast<int>(random.below(static_cast<std::uint32_t>(image.height))) - size.height / 2;
          const int x = static_cast<int>(random.below(static_cast<std::uint32_t>(image.width))) - size.width / 2;
          const int top = std::max(y, 0), left = std::max(x, 0);
          const int bottom = std::min(y + size.height, image.height), right = std::min(x + size.width, image.width);
          cover(frame, {left, top, right - left, bottom - top}, paint, random, scratch);
        }
      });
}

}  // namespace unstarve
