#include "unstarve/codecs/jpeg/encode/forward_dct.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <vector>

#include "unstarve/codecs/jpeg/layout/zigzag.h"
#include "unstarve/core/random.h"
#include "unstarve/core/simd_test_support.h"

namespace unstarve {
namespace {

// Noise, extremes, two values, nearly flat, flat.
void fill_block(Random& random, std::uint8_t* samples, std::size_t stride) {
  const std::uint32_t kind = random.below(5);
  const auto base = static_cast<std::uint8_t>(random.bits());
  for (std::size_t y = 0; y < 8; ++y) {
    for (std::size_t x = 0; x < 8; ++x) {
      std::uint32_t value = base;
      if (kind == 0) value = random.below(256);
      if (kind == 1) value = random.below(2) * 255;
      if (kind == 2) value = (x * 3 + y) % 5 < 2 ? 255 : base;
      if (kind == 3) value = random.below(20) == 0 ? value ^ 1 : value;
      samples[y * stride + x] = static_cast<std::uint8_t>(value);
    }
  }
}

}  // namespace

TEST_CASE("the forward DCT of every instruction set equals the reference", "[codecs]") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    Random random(31, 0, 0, 0);
    for (int round = 0; round < 200; ++round) {
      const std::size_t blocks = 1 + random.below(11);
      QuantisationTable factors;
      for (auto& factor : factors) factor = static_cast<std::uint8_t>(1 + random.below(round % 3 == 0 ? 255 : 12));
      ZigzagRow row;
      row.resize(blocks);
      const std::size_t stride = row.groups() * ZigzagRow::kGroupBlocks * 8;
      std::vector<std::uint8_t> samples(8 * stride);
      for (std::size_t b = 0; b < blocks; ++b) fill_block(random, samples.data() + 8 * b, stride);
      forward_dct(samples.data(), static_cast<std::ptrdiff_t>(stride), make_quantiser(factors), row);
      for (std::size_t b = 0; b < blocks; ++b) {
        std::int16_t expected[64];
        forward_dct_reference(samples.data() + 8 * b, static_cast<std::ptrdiff_t>(stride), factors, expected);
        std::uint64_t nonzero = 0;
        for (std::size_t i = 0; i < 64; ++i) nonzero |= std::uint64_t{expected[i] != 0} << i;
        const bool same = std::equal(expected, expected + 64, row.values() + 64 * b);
        REQUIRE(same);
        REQUIRE(row.nonzero()[b] == nonzero);
      }
    }
  });
}

TEST_CASE("the forward DCT is within 0.7 of the cosine transform", "[codecs]") {
  Random random(32, 0, 0, 0);
  QuantisationTable ones;
  ones.fill(1);
  double worst = 0;
  for (int round = 0; round < 200; ++round) {
    std::uint8_t samples[64];
    fill_block(random, samples, 8);
    std::int16_t out[64];
    forward_dct_reference(samples, 8, ones, out);
    for (std::size_t i = 0; i < 64; ++i) {
      const int v = kZigzag[i] / 8, u = kZigzag[i] % 8;
      double sum = 0;  // T.81, A.3.3
      for (int y = 0; y < 8; ++y) {
        for (int x = 0; x < 8; ++x) {
          sum += (samples[8 * y + x] - 128) * std::cos((2 * x + 1) * u * std::numbers::pi / 16) *
                 std::cos((2 * y + 1) * v * std::numbers::pi / 16);
        }
      }
      sum *= (u == 0 ? std::numbers::sqrt2 / 2 : 1) * (v == 0 ? std::numbers::sqrt2 / 2 : 1) / 4;
      worst = std::max(worst, std::abs(sum - out[i]));
    }
  }
  CHECK(worst < 0.7);
}

TEST_CASE("multiplication by reciprocals equals division for every factor and 15-bit value", "[codecs]") {
  for (std::uint32_t factor = 1; factor <= 255; ++factor) {
    QuantisationTable factors;
    factors.fill(static_cast<std::uint8_t>(factor));
    const Quantiser quantiser = make_quantiser(factors);
    const std::uint32_t divisor = 8 * factor;
    bool same = true;
    for (std::uint32_t x = 0; x < 32768; ++x) {
      const std::uint32_t product = (x + quantiser.correction[0]) * quantiser.reciprocal[0] >> 16;
      same = same && (product * quantiser.scale[0] >> 16) == (x + divisor / 2) / divisor;
    }
    INFO("factor " << factor);
    CHECK(same);
  }
}

}  // namespace unstarve
