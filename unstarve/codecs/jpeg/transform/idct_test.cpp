// Compares the IDCT's kernels with their reference on every instruction set, and the reference with the real transform.
#include "unstarve/codecs/jpeg/transform/idct.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <vector>

#include "unstarve/codecs/jpeg/transform/idct_test_support.h"
#include "unstarve/core/random.h"
#include "unstarve/core/testing/simd_test_support.h"

namespace unstarve {
TEST_CASE("the IDCT of every instruction set equals the reference", "[codecs]") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    Random random(21, 0, 0, 0);
    for (int round = 0; round < 300; ++round) {
      const std::size_t blocks = 1 + random.below(11);
      std::int16_t quantisation[64];
      for (auto& factor : quantisation) factor = static_cast<std::int16_t>(1 + random.below(round % 3 == 0 ? 255 : 12));
      CoefficientRow row;
      row.resize(blocks);
      const std::size_t stride = row.blocks() * 8 + 64;
      std::vector<std::uint8_t> expected(stride * 8), out(stride * 8);
      for (std::size_t b = 0; b < blocks; ++b) {
        const testing::Block block = testing::random_block(random);
        testing::put(row, b, block);
        inverse_dct_reference(block.values, quantisation, expected.data() + 8 * b, static_cast<std::ptrdiff_t>(stride));
      }
      inverse_dct(row, quantisation, out.data(), static_cast<std::ptrdiff_t>(stride));
      for (std::size_t y = 0; y < 8; ++y) {
        const bool same = std::equal(out.begin() + static_cast<std::ptrdiff_t>(y * stride),
                                     out.begin() + static_cast<std::ptrdiff_t>(y * stride + 8 * blocks),
                                     expected.begin() + static_cast<std::ptrdiff_t>(y * stride));
        REQUIRE(same);
      }
      REQUIRE(testing::holds_zeros(row));
    }
  });
}

TEST_CASE("the IDCT is within 0.6 of the cosine transform", "[codecs]") {
  Random random(22, 0, 0, 0);
  std::int16_t ones[64];
  std::fill_n(ones, 64, std::int16_t{1});
  double worst = 0;
  for (int round = 0; round < 200; ++round) {
    std::int16_t in[64];
    for (auto& value : in) value = static_cast<std::int16_t>(static_cast<int>(random.below(61)) - 30);
    std::uint8_t out[64];
    inverse_dct_reference(in, ones, out, 8);
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 8; ++x) {
        double sum = 0;  // T.81, A.3.3
        for (int v = 0; v < 8; ++v) {
          for (int u = 0; u < 8; ++u) {
            const double scale = (u == 0 ? std::numbers::sqrt2 / 2 : 1) * (v == 0 ? std::numbers::sqrt2 / 2 : 1) / 4;
            sum += scale * in[8 * v + u] * std::cos((2 * x + 1) * u * std::numbers::pi / 16) *
                   std::cos((2 * y + 1) * v * std::numbers::pi / 16);
          }
        }
        const double sample = std::clamp(sum + 128, 0.0, 255.0);
        worst = std::max(worst, std::abs(sample - out[8 * y + x]));
      }
    }
  }
  CHECK(worst < 0.6);
}

}  // namespace unstarve
