#include <catch2/catch.hpp>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "unstarve/core/random.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/policy/magnitudes.h"
#include "unstarve/ops/policy/mix_images.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/ops/test_support.h"

namespace unstarve {
namespace {

using testing::Arrangement;
using testing::Pixels;

std::vector<std::uint8_t> stored(const Frame& frame) {
  const Storer storer({ElementType::kUint8, Layout::kNhwc, {}});
  std::vector<std::uint8_t> bytes(storer.sample_bytes(frame.size()));
  storer.store(frame, bytes.data());
  return bytes;
}

std::vector<std::uint8_t> augmented(const Operation& operation, Frame frame, std::uint64_t sample) {
  Scratch scratch;
  Random random(3, 1, sample, 0);
  operation.apply(frame, random, scratch);
  return stored(frame);
}

// One chain of one change: a blend of two known images by an unknown weight.
TEST_CASE("aug_mix blends the image with one of its changes") {
  Random made_up(1, 0, 0, 0);
  const Pixels pixels({40, 33}, Arrangement::kInterleaved, made_up);
  const auto plain = stored(Frame(pixels.view));
  // Every image that a change by one of the first three of ten magnitudes gives for 40 x 33 pixels: those of the AugMix
  // paper, with a third of the side for translations.
  struct Magnitudes {
    Change change;
    double of[3];
    bool negative;  // with both signs
  };
  constexpr Magnitudes kMagnitudes[] = {{Change::kShearX, {0, 0.3 / 9, 0.6 / 9}, true},
                                        {Change::kShearY, {0, 0.3 / 9, 0.6 / 9}, true},
                                        {Change::kTranslateX, {0, 1, 2}, true},  // whole pixels of 1.48 and 2.96
                                        {Change::kTranslateY, {0, 1, 2}, true},  // of 1.22 and 2.44
                                        {Change::kRotate, {0, 30.0 / 9, 60.0 / 9}, true},
                                        {Change::kBrightness, {0, 0.1, 0.2}, true},
                                        {Change::kSaturation, {0, 0.1, 0.2}, true},
                                        {Change::kContrast, {0, 0.1, 0.2}, true},
                                        {Change::kSharpness, {0, 0.1, 0.2}, true},
                                        {Change::kPosterize, {4, 4, 3}, false},
                                        {Change::kSolarize, {255, 2040.0 / 9, 1785.0 / 9}, false},
                                        {Change::kAutoContrast, {0, 0, 0}, false},
                                        {Change::kEqualize, {0, 0, 0}, false}};
  std::vector<std::vector<double>> changes;
  for (const Magnitudes& magnitudes : kMagnitudes) {
    for (const double magnitude : magnitudes.of) {
      for (const double sign : {1.0, -1.0}) {
        if (sign < 0 && !magnitudes.negative) continue;
        Scratch scratch;
        Frame frame(pixels.view);
        change_by(frame, magnitudes.change, sign * magnitude, {Interpolation::kBilinear, {9, 130, 250}}, scratch);
        const auto bytes = stored(frame);
        changes.emplace_back(bytes.begin(), bytes.end());
      }
    }
  }
  const auto operation =
      make_operation({"aug_mix", {{"mixture_width", {1}}, {"chain_depth", {1}}, {"fill", {9, 130, 250}}}});
  for (std::uint64_t sample = 0; sample < 60; ++sample) {
    const auto mixed = augmented(*operation, Frame(pixels.view), sample);
    // The weight by least squares, then every value within the error of truncation.
    bool found = false;
    for (const auto& changed : changes) {
      double along = 0, length = 0;
      for (std::size_t i = 0; i < plain.size(); ++i) {
        const double way = changed[i] - plain[i];
        along += way * (mixed[i] + 0.5 - plain[i]);
        length += way * way;
      }
      const double weight = length > 0 ? along / length : 0;
      bool same = true;
      for (std::size_t i = 0; i < plain.size() && same; ++i)
        same = std::abs(plain[i] + weight * (changed[i] - plain[i]) - 0.5 - mixed[i]) < 1.2;
      found = found || same;
    }
    INFO(sample);
    REQUIRE(found);
  }
}

TEST_CASE("aug_mix leaves values that no chain changes") {
  Image white({20, 20});
  std::fill_n(white.data(), white.bytes(), std::uint8_t{64});
  // At the lowest severity nothing moves; 64 has no low bits to lose and is below every threshold.
  const auto operation =
      make_operation({"aug_mix", {{"severity", {1}}, {"mixture_width", {7}}, {"all_ops", {"false"}}}});
  for (std::uint64_t sample = 0; sample < 40; ++sample)
    REQUIRE(augmented(*operation, Frame(white.view()), sample) == stored(Frame(white.view())));
}

TEST_CASE("aug_mix is deterministic per sample and differs between samples") {
  Random made_up(2, 0, 0, 0);
  const Pixels pixels({30, 30}, Arrangement::kPlanar, made_up);
  const auto operation = make_operation({"aug_mix", {}});
  std::set<std::string> seen;
  for (std::uint64_t sample = 0; sample < 30; ++sample) {
    const auto mixed = augmented(*operation, Frame(pixels.view), sample);
    REQUIRE(mixed == augmented(*operation, Frame(pixels.view), sample));
    seen.emplace(mixed.begin(), mixed.end());
  }
  REQUIRE(seen.size() >= 28);
}

TEST_CASE("blends have the same bits on every instruction set") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    Random random(3, 0, 0, 0);
    for (const std::size_t count : {1u, 7u, 64u, 1001u}) {
      std::vector<std::uint8_t> a(count), b(count), mixed(count);
      std::vector<std::uint32_t> sums(count, 77);
      for (std::size_t i = 0; i < count; ++i) a[i] = static_cast<std::uint8_t>(random.bits()), b[i] = 255;
      add_weighted(a.data(), 20'000, true, count, sums.data());
      add_weighted(b.data(), 45'536, false, count, sums.data());
      take_sums(sums.data(), count, mixed.data());
      for (std::size_t i = 0; i < count; ++i) REQUIRE(mixed[i] == (20'000U * a[i] + 45'536U * 255) >> 16);
    }
  });
}

}  // namespace
}  // namespace unstarve
