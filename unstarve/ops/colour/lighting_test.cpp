// The noise of `lighting` is AlexNet's: along ImageNet's principal components, in proportion to the eigenvalues.
#include <array>
#include <cmath>

#include <catch2/catch.hpp>

#include "unstarve/ops/operations.h"
#include "unstarve/ops/store/store.h"

namespace unstarve {
namespace {

// The change of a pixel of value 128 in sample `id`.
std::array<double, kChannels> added(const Operation& operation, std::uint64_t id) {
  static const std::array<std::uint8_t, kChannels> grey{128, 128, 128};
  Frame frame(PixelView{grey.data(), 1, 1, kChannels, kChannels, 1});
  Scratch scratch;
  Random random(9, 0, id, 0);
  operation.apply(frame, random, scratch);
  std::array<std::uint8_t, kChannels> made{};
  Storer({ElementType::kUint8, Layout::kNhwc, {}}).store(frame, made.data());
  return {made[0] - 128.0, made[1] - 128.0, made[2] - 128.0};
}

TEST_CASE("lighting varies along ImageNet's principal components in proportion to the eigenvalues") {
  // From facebook/fb.resnet.torch, in 0..1; a column is a component.
  constexpr double kComponents[kChannels][kChannels] = {
      {-0.5675, 0.7192, 0.4009}, {-0.5808, -0.0045, -0.8140}, {-0.5836, -0.6948, 0.4203}};
  constexpr double kEigenvalues[kChannels] = {0.2175, 0.0188, 0.0045};
  constexpr double kStd = 0.5;  // the least component exceeds the rounding to bytes, and nothing is clipped
  constexpr int kDraws = 40'000;
  const auto operation = make_operation({"lighting", {{"std", {kStd}}}});
  double mean[kChannels] = {}, products[kChannels][kChannels] = {};
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto colour = added(*operation, static_cast<std::uint64_t>(draw));
    double along[kChannels] = {};
    for (std::size_t i = 0; i < kChannels; ++i)
      for (std::size_t c = 0; c < kChannels; ++c) along[i] += colour[c] * kComponents[c][i];
    for (std::size_t i = 0; i < kChannels; ++i) {
      mean[i] += along[i] / kDraws;
      for (std::size_t k = 0; k < kChannels; ++k) products[i][k] += along[i] * along[k] / kDraws;
    }
  }
  for (std::size_t i = 0; i < kChannels; ++i) {
    INFO("component " << i);
    const double deviation = 255 * kStd * kEigenvalues[i];
    CHECK(std::abs(mean[i]) < 5 * (deviation + 1) / std::sqrt(kDraws));
    CHECK(std::sqrt(products[i][i] - 1.0 / 12) == Approx(deviation).epsilon(0.03));  // without the variance of rounding
    for (std::size_t k = 0; k < i; ++k)
      CHECK(std::abs(products[i][k]) / std::sqrt(products[i][i] * products[k][k]) < 0.03);
  }
}

}  // namespace
}  // namespace unstarve
