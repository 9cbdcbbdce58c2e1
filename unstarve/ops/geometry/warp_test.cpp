// Sampling against its reference on every instruction set, and mappings whose result is known exactly.
#include "unstarve/ops/geometry/warp.h"

#include <catch2/catch.hpp>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/ops/base/window.h"
#include "unstarve/ops/geometry/perspective_positions.h"
#include "unstarve/ops/geometry/positions.h"
#include "unstarve/ops/test_support.h"

namespace unstarve {
namespace {

using testing::between;

constexpr Rgb kFill{3, 250, 90};

Image noise(Size size, Random& random) {
  Image image(size);
  for (std::size_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<std::uint8_t>(random.bits());
  return image;
}

}  // namespace

TEST_CASE("sampling equals its reference on every instruction set", "[ops]") {
  testing::on_every_target([](const std::string& target) {
    for (std::uint32_t round = 0; round < 60; ++round) {
      Random random(81, 0, round, 0);
      const Image image = noise({between(random, 1, 70), between(random, 1, 50)}, random);
      const std::size_t count = random.below(80);
      Positions at{};
      const auto position = [&](int side) {
        return static_cast<std::int32_t>(random.uniform(-2, side + 1) * (1 << kPositionBits));
      };
      for (std::size_t i = 0; i < count; ++i) {
        const bool far = random.below(10) == 0;
        at.x[i] = far ? between(random, -kMaxSampledSide, kMaxSampledSide) * 2 << kPositionBits
                      : position(image.size().width);
        at.y[i] = random.below(5) == 0 ? between(random, -1, image.size().height) << kPositionBits
                                       : position(image.size().height);
      }
      for (const Interpolation interpolation : {Interpolation::kNearest, Interpolation::kBilinear}) {
        INFO(target << ", round " << round);
        std::vector<std::uint8_t> rgb(count * kChannels + 1, 77);
        sample_positions(image, at, count, {interpolation, kFill}, rgb.data());
        for (std::size_t i = 0; i < count; ++i) {
          const auto expected = sample_position(image, at.x[i], at.y[i], {interpolation, kFill});
          for (std::size_t c = 0; c < kChannels; ++c) REQUIRE(rgb[kChannels * i + c] == expected[c]);
        }
        REQUIRE(rgb.back() == 77);
      }
    }
  });
}

TEST_CASE("positions of a perspective equal their reference on every instruction set", "[ops]") {
  testing::on_every_target([](const std::string& target) {
    for (std::uint32_t round = 0; round < 200; ++round) {
      INFO(target << ", round " << round);
      Random random(83, 0, round, 0);
      const double size = between(random, 1, 1200);
      Mapping m{random.uniform(-2, 2),        random.uniform(-2, 2),       random.uniform(-size, size),
                random.uniform(-2, 2),        random.uniform(-2, 2),       random.uniform(-size, size),
                random.uniform(-2, 2) / size, random.uniform(-2, 2) / size};
      // Positions far outside, a horizon within the row, no horizon at all, and halves that are rounded.
      if (round % 5 == 0) m.a *= 1e9;
      if (round % 7 == 0) m = {0, 0, 0, 0, 0, 0, -1 / 4.5, 0};
      if (round % 11 == 0) m = {1, 0, 0x1p-17, 0, 1, -0x1p-17, 0, 0};
      const std::size_t count = random.below(70);
      const int first = between(random, 0, 900), row = between(random, 0, 900);
      Positions to;
      to.x[count] = to.y[count] = 77;
      perspective_positions(m, round % 7 == 0 ? 0 : first, row, count, to);
      for (std::size_t i = 0; i < count; ++i) {
        const Position position = perspective_position(m, (round % 7 == 0 ? 0 : first) + static_cast<int>(i), row);
        REQUIRE(to.x[i] == position.x);
        REQUIRE(to.y[i] == position.y);
      }
      REQUIRE((to.x[count] == 77 && to.y[count] == 77));
    }
  });
}

TEST_CASE("mappings of rotations by 90 and 180 degrees, translations and mirrors are exact", "[ops]") {
  Random random(82, 0, 0, 0);
  const Image image = noise({1100, 37}, random);  // longer than a run of positions
  const auto moved = [&](const Mapping& mapping, Interpolation interpolation) {
    Scratch scratch;
    Frame frame(image.view());
    warp(frame, mapping, {interpolation, kFill}, scratch);
    Image out(frame.size());
    copy_window(frame, 0, frame.height, {out.data(), static_cast<std::ptrdiff_t>(out.row_bytes()), 1});
    return out;
  };
  const Size size = image.size();
  for (const Interpolation interpolation : {Interpolation::kNearest, Interpolation::kBilinear}) {
    const Image same = moved({}, interpolation);
    const Image whole = moved(affine_mapping(size, {.degrees = 360}), interpolation);
    const Image half = moved(affine_mapping(size, {.degrees = 180}), interpolation);
    const Image shifted = moved(affine_mapping(size, {.move_x = 5, .move_y = -3}), interpolation);
    const double w = size.width, h = size.height;
    const Image mirrored = moved(
        perspective_mapping({{{w, 0}, {0, 0}, {0, h}, {w, h}}}, {{{0, 0}, {w, 0}, {w, h}, {0, h}}}), interpolation);
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        for (int c = 0; c < kChannels; ++c) {
          const auto at = [&](const Image& of) { return of.row(y)[x * kChannels + c]; };
          const auto source = [&](int from_x, int from_y) {
            const bool inside = from_x >= 0 && from_y >= 0 && from_x < size.width && from_y < size.height;
            return inside ? image.row(from_y)[from_x * kChannels + c] : kFill[static_cast<std::size_t>(c)];
          };
          REQUIRE(at(same) == source(x, y));
          REQUIRE(at(whole) == source(x, y));
          REQUIRE(at(half) == source(size.width - 1 - x, size.height - 1 - y));
          REQUIRE(at(shifted) == source(x - 5, y + 3));
          REQUIRE(at(mirrored) == source(size.width - 1 - x, y));
        }
      }
    }
  }
}

TEST_CASE("degenerate mappings give fill, and images that are too large an error", "[ops]") {
  Random random(83, 0, 0, 0);
  const Image image = noise({40, 30}, random);
  for (const Mapping& mapping : {Mapping{1e30, 0, 0, 0, 1e30, 0, 0, 0}, Mapping{1, 0, 1e9, 0, 1, -1e9, 0, 0},
                                 Mapping{0, 0, 1, 0, 0, 1, -1, -1}, Mapping{1, 0, 0, 0, 1, 0, 1e300, -1e300}}) {
    Scratch scratch;
    Frame frame(image.view());
    warp(frame, mapping, {Interpolation::kBilinear, kFill}, scratch);
    REQUIRE(frame.size() == image.size());
  }
  Scratch scratch;
  Frame wide(image.view());
  wide.crop({0, 0, kMaxSampledSide + 1, 1});
  CHECK_THROWS_AS(warp(wide, {}, {Interpolation::kNearest, kFill}, scratch), Error);
}

}  // namespace unstarve
