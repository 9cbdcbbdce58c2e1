// Covers a random rectangle with one colour or with noise: torchvision's RandomErasing (Zhong et al., "Random erasing
// data augmentation", 2017), with the same trials. It works on pixels, before normalisation.

#include <cmath>

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/paint.h"
#include "unstarve/ops/base/parameters.h"

namespace unstarve {
namespace {

constexpr int kTrials = 10;  // torchvision's number

class Erasing final : public Operation {
 public:
  Erasing(double probability, std::pair<double, double> scale, std::pair<double, double> ratio, const Paint& paint)
      : probability_(probability), scale_(scale), ratio_(ratio), paint_(paint) {}

  [[nodiscard]] bool random() const override { return probability_ > 0; }
  [[nodiscard]] bool writes_pixels() const override { return true; }
  [[nodiscard]] bool runs_on_gpu() const override { return true; }
  Size output_size(Size selected) const override { return selected; }
  void apply(Frame& frame, Random& random, Scratch& scratch) const override {
    if (random.uniform() >= probability_) return;
    const Rect rect = draw(frame.size(), random);
    if (rect.width == 0) return;
    cover(frame, rect, paint_, random, scratch);
  }

 private:
  // Empty if no trial gives a rectangle that is smaller than the image on both sides.
  Rect draw(Size image, Random& random) const {
    const double area = static_cast<double>(image.width) * image.height;
    const double log_low = std::log(ratio_.first), log_high = std::log(ratio_.second);
    for (int trial = 0; trial < kTrials; ++trial) {
      const double target = area * random.uniform(scale_.first, scale_.second);
      const double ratio = std::exp(random.uniform(log_low, log_high));
      const int height = static_cast<int>(std::nearbyint(std::sqrt(target * ratio)));
      const int width = static_cast<int>(std::nearbyint(std::sqrt(target / ratio)));
      if (height < 1 || width < 1 || height >= image.height || width >= image.width) continue;
      const auto y = static_cast<int>(random.below(static_cast<std::uint32_t>(image.height - height + 1)));
      const auto x = static_cast<int>(random.below(static_cast<std::uint32_t>(image.width - width + 1)));
      return {x, y, width, height};
    }
    return {};
  }

  double probability_;
  std::pair<double, double> scale_, ratio_;
  Paint paint_;
};

}  // namespace

std::unique_ptr<Operation> make_erasing(const OpParams& params) {
  const Parameters p("erasing", params, {"probability", "scale", "ratio", "value"});
  return std::make_unique<Erasing>(p.number("probability", 0.5, 0, 1), p.range("scale", {0.02, 0.33}, 1),
                                   p.range("ratio", {0.3, 3.3}, 1000), read_paint(p));
}

}  // namespace unstarve
