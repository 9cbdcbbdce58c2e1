// Brightness, contrast, saturation and hue by random amounts, in random order: torchvision's
// ColorJitter. Its parameters are torchvision's: 0.4 means factors of 0.6 to 1.4, hue 0.1 hue shifts of -0.1 to 0.1.

#include <algorithm>
#include <array>

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/colour/colour_operation.h"
#include "unstarve/ops/colour/colours.h"

namespace unstarve {
namespace {

class ColorJitter final : public ColourOperation {
 public:
  ColorJitter(double brightness, double contrast, double saturation, double hue, double probability)
      : ColourOperation(probability, true), by_{brightness, contrast, saturation, hue} {}

 private:
  void change(Frame& frame, Random& random, Scratch& scratch) const override {
    // All numbers are drawn even if unused, so that one parameter does not affect the others.
    std::array<double, 4> drawn{};
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const double least = i == 3 ? -by_[i] : std::max(0.0, 1 - by_[i]);
      drawn[i] = random.uniform(least, i == 3 ? by_[i] : 1 + by_[i]);
    }
    std::array<std::size_t, 4> order{0, 1, 2, 3};
    for (std::size_t i = 3; i > 0; --i) {
      std::swap(order[i], order[random.below(static_cast<std::uint32_t>(i) + 1)]);
    }
    for (const std::size_t i : order) {
      if (by_[i] == 0) continue;
      switch (i) {
        case 0: adjust_brightness(frame, drawn[i], scratch); break;
        case 1: adjust_contrast(frame, drawn[i], scratch); break;
        case 2: adjust_saturation(frame, drawn[i], scratch); break;
        default: adjust_hue(frame, drawn[i], scratch);
      }
    }
  }

  std::array<double, 4> by_;
};

}  // namespace

std::unique_ptr<Operation> make_color_jitter(const OpParams& params) {
  const Parameters p("color_jitter", params, {"brightness", "contrast", "saturation", "hue", "probability"});
  constexpr double kMax = kMaxBlend - 1;
  return std::make_unique<ColorJitter>(p.number("brightness", 0.4, 0, kMax), p.number("contrast", 0.4, 0, kMax),
                                       p.number("saturation", 0.4, 0, kMax), p.number("hue", 0.1, 0, 0.5),
                                       p.number("probability", 1, 0, 1));
}

}  // namespace unstarve
