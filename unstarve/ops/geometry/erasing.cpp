// Covers a random rectangle with one colour or with noise: torchvision's RandomErasing (Zhong et al., "Random erasing
// data augmentation", 2017), with the same trials. It works on pixels, before normalisation.

#include <cmath>

#include "unstarve/ops/base/paint.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/same_size_operation.h"

namespace unstarve {
namespace {

constexpr int kTrials = 10;  // torchvision's number

using Range = std::pair<double, double>;

// Empty if no trial gives a rectangle that is smaller than the image on both sides.
Rect draw_rectangle(Size image, Range scale, Range ratios, Random& random) {
  const double area = static_cast<double>(image.width) * image.height;
  const double log_low = std::log(ratios.first), log_high = std::log(ratios.second);
  for (int trial = 0; trial < kTrials; ++trial) {
    const double target = area * random.uniform(scale.first, scale.second);
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

}  // namespace

std::unique_ptr<Operation> make_erasing(const OpParams& params) {
  const Parameters p("erasing", params, {"probability", "scale", "ratio", "value"});
  const double probability = p.number("probability", 0.5, 0, 1);
  const Range scale = p.range("scale", {0.02, 0.33}, 1), ratios = p.range("ratio", {0.3, 3.3}, 1000);
  const Paint paint = read_paint(p);
  // A number is drawn for the probability even if it is 1.
  return change_operation({.draws = probability > 0, .writes_pixels = true},
                          [=](Frame& frame, Random& random, Scratch& scratch) {
                            if (random.uniform() >= probability) return;
                            const Rect rectangle = draw_rectangle(frame.size(), scale, ratios, random);
                            if (rectangle.width > 0) cover(frame, rectangle, paint, random, scratch);
                          });
}

}  // namespace unstarve
