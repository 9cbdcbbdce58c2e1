#include "unstarve/ops/gpu/output.h"

#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "unstarve/ops/gpu/host_run.h"
#include "unstarve/ops/store/convert.h"

namespace unstarve::gpu {
namespace {

// The definition of binary16.
double value_of(unsigned bits) {
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 1023);
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST_CASE("float16 rounds to nearest even") {
  int wrong = 0;
  for (unsigned bits = 0; bits < 0x7C00; ++bits) {
    for (const unsigned sign : {0U, 0x8000U}) {
      const auto exact = static_cast<float>(value_of(bits | sign));
      wrong += float16_bits(exact) != (bits | sign);
      // Half way to the next value; after the last one infinity begins.
      const double beyond = bits == 0x7BFF ? 65'536 : std::abs(value_of(bits + 1));
      const double between = (value_of(bits) + beyond) / 2 * (sign ? -1 : 1);
      const auto half = static_cast<float>(between);
      REQUIRE(static_cast<double>(half) == between);
      wrong += float16_bits(half) != ((bits + (bits & 1)) | sign);
      wrong += float16_bits(std::nextafter(half, 0.F)) != (bits | sign);
      wrong += float16_bits(std::nextafter(half, sign ? -1e9F : 1e9F)) != ((bits + 1) | sign);
    }
  }
  CHECK(wrong == 0);
  CHECK(float16_bits(1e30F) == 0x7C00);
  CHECK(float16_bits(-1e30F) == 0xFC00);
}

TEST_CASE("float16 of a pixel is that of the float32 the host stores") {
  const StoreFormat format{ElementType::kFloat32, Layout::kNhwc, kImagenetNormalisation};
  Output output = make_output(format);
  output.type = ElementType::kFloat16;
  output.size = {1, 1};
  const Storer storer(format);
  for (int value = 0; value < 256; ++value) {
    const auto v = static_cast<std::uint8_t>(value);
    const std::uint8_t pixel[3] = {v, v, v};
    float stored[3];
    storer.store(Frame(PixelView{pixel, 1, 1, 3, 3, 1}), stored);
    std::uint16_t made[3];
    output.pixels = made;
    store_pixel(output, 0, 0, 0, {v, v, v});
    for (int c = 0; c < 3; ++c) REQUIRE(made[c] == float16_bits(stored[c]));
  }
}

}  // namespace
}  // namespace unstarve::gpu
