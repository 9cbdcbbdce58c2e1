// Covers rectangles of a fixed size, clipped at the edges: DeVries and Taylor, "Improved regularization of
// convolutional neural networks with cutout", 2017. As in their code, centres are uniform over all pixels. Sides have
// the length requested; their code covers one pixel less if it is odd.

#include <algorithm>

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/paint.h"
#include "unstarve/ops/base/parameters.h"

namespace unstarve {
namespace {

class Cutout final : public Operation {
 public:
  Cutout(Size size, int holes, double probability, const Paint& paint)
      : size_(size), holes_(holes), probability_(probability), paint_(paint) {}

  [[nodiscard]] bool random() const override { return probability_ > 0; }
  [[nodiscard]] bool writes_pixels() const override { return true; }
  [[nodiscard]] bool runs_on_gpu() const override { return true; }
  Size output_size(Size selected) const override { return selected; }
  void apply(Frame& frame, Random& random, Scratch& scratch) const override {
    if (random.uniform() >= probability_) return;
    const Size image = frame.size();
    for (int hole = 0; hole < holes_; ++hole) {
      const int y = static_cast<int>(random.below(static_cast<std::uint32_t>(image.height))) - size_.height / 2;
      const int x = static_cast<int>(random.below(static_cast<std::uint32_t>(image.width))) - size_.width / 2;
      const int top = std::max(y, 0), left = std::max(x, 0);
      const int bottom = std::min(y + size_.height, image.height), right = std::min(x + size_.width, image.width);
      cover(frame, {left, top, right - left, bottom - top}, paint_, random, scratch);
    }
  }

 private:
  Size size_;
  int holes_;
  double probability_;
  Paint paint_;
};

}  // namespace

std::unique_ptr<Operation> make_cutout(const OpParams& params) {
  const Parameters p("cutout", params, {"size", "holes", "probability", "value"});
  return std::make_unique<Cutout>(p.size("size"), p.integer("holes", 1, 1, 100), p.number("probability", 1, 0, 1),
                                  read_paint(p));
}

}  // namespace unstarve
