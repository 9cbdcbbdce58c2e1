// The filters against scalar arithmetic on every instruction set.
#include "unstarve/ops/filter/filters.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "unstarve/ops/base/window.h"
#include "unstarve/ops/test_support.h"

namespace unstarve {
namespace {

using testing::Arrangement;
using testing::between;
using testing::Pixels;

// Reference blur of the second channel in double precision, with the image mirrored at its edges.
double blurred(const PixelView& image, int x, int y, double sigma, int radius) {
  const auto mirrored = [](int i, int side) {
    while (side > 1 && (i < 0 || i >= side)) i = i < 0 ? -i : 2 * (side - 1) - i;
    return side == 1 ? 0 : i;
  };
  double sum = 0, weights = 0;
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx) {
      const double weight = std::exp(-(dx * dx + dy * dy) / (2 * sigma * sigma));
      sum += weight * image.at(mirrored(x + dx, image.width), mirrored(y + dy, image.height), 1);
      weights += weight;
    }
  }
  return sum / weights;
}

}  // namespace

TEST_CASE("a blur is a normally weighted mean, also for images smaller than its radius", "[ops]") {
  testing::on_every_target([](const std::string& target) {
    for (std::uint32_t round = 0; round < 14; ++round) {
      Random random(91, 0, round, 0);
      const Pixels pixels({between(random, 1, 40), between(random, 1, 30)}, static_cast<Arrangement>(random.below(3)),
                          random);
      const int radius = round == 0 ? 0 : between(random, 1, round < 7 ? 4 : 12);
      const double sigma = random.uniform(0.2, 4);
      Scratch scratch;
      Frame frame(pixels.view);
      gaussian_blur(frame, sigma, radius, scratch);
      INFO(target << ", round " << round);
      for (int y = 0; y < frame.height; ++y) {
        for (int x = 0; x < frame.width; ++x) {
          const double expected = blurred(pixels.view, x, y, sigma, radius);
          REQUIRE(std::abs(window_value(frame, x, y, 1) - expected) < 0.53);
        }
      }
    }
  });
}

TEST_CASE("every instruction set blurs and sharpens to the same bits", "[ops]") {
  Random random(92, 0, 0, 0);
  const Pixels pixels({97, 61}, Arrangement::kInterleaved, random);
  std::vector<std::vector<std::uint8_t>> results;
  testing::on_every_target([&](const std::string&) {
    Scratch scratch;
    Frame frame(pixels.view);
    adjust_sharpness(frame, 1.7, scratch);
    gaussian_blur(frame, 1.3, 4, scratch);
    adjust_sharpness(frame, 0.2, scratch);
    std::vector<std::uint8_t> values;
    for (int y = 0; y < frame.height; ++y) {
      for (int x = 0; x < frame.width; ++x) {
        for (int c = 0; c < kChannels; ++c) values.push_back(window_value(frame, x, y, c));
      }
    }
    results.push_back(values);
  });
  for (const auto& result : results) CHECK(result == results.front());
}

}  // namespace unstarve
