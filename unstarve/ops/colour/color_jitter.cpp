// Brightness, contrast, saturation and hue by random amounts, in random order: torchvision's
// ColorJitter. Its parameters are torchvision's: 0.4 means factors of 0.6 to 1.4, hue 0.1 hue shifts of -0.1 to 0.1.

#include <algorithm>
#include <array>

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/same_size_operation.h"
#include "unstarve/ops/colour/colours.h"

namespace unstarve {
namespace {

// The largest changes of brightness, contrast, saturation and hue.
using Ranges = std::array<double, 4>;

void jitter(Frame& frame, const Ranges& by, Random& random, Scratch& scratch) {
  // All numbers are drawn even if unused, so that one parameter does not affect the others.
  std::array<double, 4> drawn{};
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const double least = i == 3 ? -by[i] : std::max(0.0, 1 - by[i]);
    drawn[i] = random.uniform(least, i == 3 ? by[i] : 1 + by[i]);
  }
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  for (std::size_t i = 3; i > 0; --i) {
    std::swap(order[i], order[random.below(static_cast<std::uint32_t>(i) + 1)]);
  }
  for (const std::size_t i : order) {
    if (by[i] == 0) continue;
    switch (i) {
      case 0: adjust_brightness(frame, drawn[i], scratch); break;
      case 1: adjust_contrast(frame, drawn[i], scratch); break;
      case 2: adjust_saturation(frame, drawn[i], scratch); break;
      default: adjust_hue(frame, drawn[i], scratch);
    }
  }
}

}  // namespace

std::unique_ptr<Operation> make_color_jitter(const OpParams& params) {
  const Parameters p("color_jitter", params, {"brightness", "contrast", "saturation", "hue", "probability"});
  constexpr double kMax = kMaxBlend - 1;
  const Ranges by{p.number("brightness", 0.4, 0, kMax), p.number("contrast", 0.4, 0, kMax),
                  p.number("saturation", 0.4, 0, kMax), p.number("hue", 0.1, 0, 0.5)};
  return change_operation({.probability = p.number("probability", 1, 0, 1), .draws = true},
                          [by](Frame& frame, Random& random, Scratch& scratch) { jitter(frame, by, random, scratch); });
}

}  // namespace unstarve
