#include "unstarve/pipeline/device/decode_rate_fit.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

TEST_CASE("the cost per byte and the cost per pixel are separated", "[decode]") {
  DecodeRateFit fit(100);
  CHECK(fit.rate().s_per_byte == 0);
  CHECK(fit.rate().s_per_pixel == 0);
  for (int i = 1; i < 20; ++i) {
    const double bytes = 1000 * i, pixels = 5000 * (i % 7 + 1);
    fit.add(bytes, pixels, 3e-9 * bytes + 2e-9 * pixels);
  }
  CHECK(fit.rate().s_per_byte == Approx(3e-9));
  CHECK(fit.rate().s_per_pixel == Approx(2e-9));
  CHECK(fit.measurements() == 19);
}

TEST_CASE("inseparable costs are fitted by one rate, and no rate is negative", "[decode]") {
  DecodeRateFit alike(100), falling(100);
  for (int i = 1; i < 20; ++i) alike.add(1000 * i, 4000 * i, 8e-6 * i);
  const DecodeRate rate = alike.rate();
  CHECK(rate.s_per_byte * 1000 + rate.s_per_pixel * 4000 == Approx(8e-6));
  // Time decreases with pixels: the best fit would have a negative rate.
  for (int i = 1; i < 20; ++i) falling.add(1000, 100 * i, 1e-6 * (20 - i));
  CHECK(falling.rate().s_per_byte > 0);
  CHECK(falling.rate().s_per_pixel == 0);
}

TEST_CASE("the weight of older measurements decays", "[decode]") {
  DecodeRateFit fit(4);
  for (int i = 1; i < 40; ++i) fit.add(1000 * (i % 3 + 1), 0, 1e-6 * (i % 3 + 1));
  for (int i = 1; i < 40; ++i) fit.add(1000 * (i % 3 + 1), 0, 5e-6 * (i % 3 + 1));
  CHECK(fit.rate().s_per_byte == Approx(5e-9).epsilon(0.01));
}

}  // namespace
}  // namespace unstarve
