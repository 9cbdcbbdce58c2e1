#include "unstarve/ops/base/gamma.h"

#include <cmath>
#include <numbers>

namespace unstarve {
namespace {

// Box and Muller.
double draw_normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

}  // namespace

double draw_gamma(double shape, Random& random) {
  // A shape below 1 is reduced to one above (section 6 of the paper).
  if (shape < 1) {
    const double draw = draw_gamma(shape + 1, random);
    return draw * std::pow(1 - random.uniform(), 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = draw_normal(random);
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    const double u = 1 - random.uniform();
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace unstarve
