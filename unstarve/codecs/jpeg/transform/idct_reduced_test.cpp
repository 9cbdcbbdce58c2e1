// Compares the reduced transforms' kernels with their reference on every instruction set, and the reference with the
// cosine transform of the low frequencies. baseline_decoder_test.cpp compares them with libjpeg-turbo.
#include "unstarve/codecs/jpeg/transform/idct_reduced.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <vector>

#include "unstarve/codecs/jpeg/transform/idct_test_support.h"
#include "unstarve/core/random.h"
#include "unstarve/core/testing/simd_test_support.h"

namespace unstarve {
TEST_CASE("the reduced IDCT of every instruction set equals the reference", "[codecs]") {
  testing::on_every_target([](const std::string& target) {
    Random random(23, 0, 0, 0);
    for (int round = 0; round < 600; ++round) {
      const int size = 1 << round % 3;
      INFO(target << ", " << size << " x " << size);
      const auto side = static_cast<std::size_t>(size);
      const std::size_t blocks = 1 + random.below(19);
      std::int16_t quantisation[64];
      for (auto& factor : quantisation) factor = static_cast<std::int16_t>(1 + random.below(round % 5 == 0 ? 255 : 12));
      CoefficientRow row;
      row.resize(blocks);
      const std::size_t stride = row.blocks() * side;
      std::vector<std::uint8_t> expected(stride * side), out(stride * side + 1, 77);
      for (std::size_t b = 0; b < blocks; ++b) {
        const testing::Block block = testing::random_block(random, size == 1);
        testing::put(row, b, block);
        inverse_dct_reduced_reference(block.values, size, quantisation, expected.data() + side * b,
                                      static_cast<std::ptrdiff_t>(stride));
      }
      inverse_dct_reduced(row, size, quantisation, out.data(), static_cast<std::ptrdiff_t>(stride));
      for (std::size_t y = 0; y < side; ++y) {
        const auto first = static_cast<std::ptrdiff_t>(y * stride);
        const auto end = first + static_cast<std::ptrdiff_t>(side * blocks);
        const bool same = std::equal(out.begin() + first, out.begin() + end, expected.begin() + first);
        REQUIRE(same);
      }
      REQUIRE(out.back() == 77);
      REQUIRE(testing::holds_zeros(row));
    }
  });
}

TEST_CASE("the reduced IDCT is close to the cosine transform of the low frequencies", "[codecs]") {
  // Four samples use four frequencies exactly; the contributions of others in jidctred.c are small. At 1 x 1 the sample
  // is the mean.
  Random random(24, 0, 0, 0);
  std::int16_t ones[64];
  std::fill_n(ones, 64, std::int16_t{1});
  for (const int size : {4, 2, 1}) {
    double worst = 0;
    for (int round = 0; round < 200; ++round) {
      // A smooth block: the forward transform of samples that are `size` x `size` waves.
      const double a = random.uniform(-40.0, 40.0), b = random.uniform(-25.0, 25.0), c = random.uniform(-25.0, 25.0);
      std::int16_t in[64] = {};
      in[0] = static_cast<std::int16_t>(std::lround(8 * a));
      in[1] = static_cast<std::int16_t>(std::lround(size > 1 ? b : 0));
      in[8] = static_cast<std::int16_t>(std::lround(size > 1 ? c : 0));
      std::uint8_t out[16];
      inverse_dct_reduced_reference(in, size, ones, out, size);
      for (int y = 0; y < size; ++y) {
        for (int x = 0; x < size; ++x) {
          // The mean over the pixels of the 8 x 8 block that this sample represents.
          const int side = 8 / size;
          double sum = 0;
          for (int v = y * side; v < (y + 1) * side; ++v) {
            for (int u = x * side; u < (x + 1) * side; ++u) {
              sum += in[0] / 8.0 + std::numbers::sqrt2 / 8 * in[1] * std::cos((2 * u + 1) * std::numbers::pi / 16) +
                     std::numbers::sqrt2 / 8 * in[8] * std::cos((2 * v + 1) * std::numbers::pi / 16);
            }
          }
          const double mean = std::clamp(sum / (side * side) + 128, 0.0, 255.0);
          worst = std::max(worst, std::abs(mean - out[y * size + x]));
        }
      }
    }
    INFO(size << " x " << size);
    CHECK(worst < 1.2);
  }
}

}  // namespace unstarve
