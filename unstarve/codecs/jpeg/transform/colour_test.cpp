// Compares chroma upsampling and colour conversion with their definitions, for every instruction set and length.
#include "unstarve/codecs/jpeg/transform/colour.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "unstarve/core/random.h"
#include "unstarve/core/testing/simd_test_support.h"

namespace unstarve {
namespace {

std::uint8_t clamped(int value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 255)); }

}  // namespace

TEST_CASE("colour conversion equals jdcolor.c's tables for every pair of chroma values", "[codecs]") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    std::vector<std::uint8_t> y(256 + kRowSlack), cb(256 + kRowSlack), cr(256 + kRowSlack), rgb(3 * 256);
    Random random(3, 0, 0, 0);
    bool same = true;
    for (int r = 0; r < 256; ++r) {
      for (std::size_t b = 0; b < 256; ++b) {
        y[b] = static_cast<std::uint8_t>(random.bits());
        cb[b] = static_cast<std::uint8_t>(b);
        cr[b] = static_cast<std::uint8_t>(r);
      }
      ycc_to_rgb(y.data(), cb.data(), cr.data(), 256, rgb.data());
      for (std::size_t b = 0; b < 256; ++b) {
        const int u = static_cast<int>(b) - 128, v = r - 128;
        same = same && rgb[3 * b] == clamped(y[b] + ((91881 * v + 32768) >> 16)) &&
               rgb[3 * b + 1] == clamped(y[b] + ((-22554 * u - 46802 * v + 32768) >> 16)) &&
               rgb[3 * b + 2] == clamped(y[b] + ((116130 * u + 32768) >> 16));
      }
    }
    CHECK(same);
  });
}

TEST_CASE("for rows of any length, conversion writes only its bytes and upsampling equals the triangle filter",
          "[codecs]") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    Random random(4, 0, 0, 0);
    for (std::size_t count = 1; count < 200; count += count < 70 ? 1 : 13) {
      std::vector<std::uint8_t> near(count + 2 + kRowSlack), far(near.size()), cr(near.size());
      for (std::size_t i = 0; i < near.size(); ++i) {
        near[i] = static_cast<std::uint8_t>(random.bits());
        far[i] = static_cast<std::uint8_t>(random.bits());
        cr[i] = static_cast<std::uint8_t>(random.bits());
      }
      const std::uint8_t* n = near.data() + 1;
      const std::uint8_t* f = far.data() + 1;
      std::vector<std::uint8_t> out(2 * count + 2 * kRowSlack);
      std::vector<std::uint16_t> sums(count + 2 + 2 * kRowSlack);
      const auto last = static_cast<std::ptrdiff_t>(count);
      bool same = true;

      upsample_2x1(n, count, out.data());
      for (std::ptrdiff_t i = 0; i < last; ++i) {
        same = same && out[static_cast<std::size_t>(2 * i)] == (3 * n[i] + n[i - 1] + 1) / 4 &&
               out[static_cast<std::size_t>(2 * i + 1)] == (3 * n[i] + n[i + 1] + 2) / 4;
      }
      for (const bool lower : {false, true}) {
        upsample_1x2(n, f, lower, count, out.data());
        for (std::ptrdiff_t i = 0; i < last; ++i) {
          same = same && out[static_cast<std::size_t>(i)] == (3 * n[i] + f[i] + (lower ? 2 : 1)) / 4;
        }
      }
      upsample_2x2(n, f, count, sums.data(), out.data());
      const auto sum = [&](std::ptrdiff_t i) { return 3 * n[i] + f[i]; };
      for (std::ptrdiff_t i = 0; i < last; ++i) {
        same = same && out[static_cast<std::size_t>(2 * i)] == (3 * sum(i) + sum(i - 1) + 8) / 16 &&
               out[static_cast<std::size_t>(2 * i + 1)] == (3 * sum(i) + sum(i + 1) + 7) / 16;
      }

      std::vector<std::uint8_t> rgb(3 * count + 1, 77), grey(3 * count + 1, 77);
      ycc_to_rgb(near.data(), far.data(), cr.data(), count, rgb.data());
      grey_to_rgb(near.data(), count, grey.data());
      for (std::size_t i = 0; i < count; ++i) {
        same = same && rgb[3 * i] == clamped(near[i] + ((91881 * (cr[i] - 128) + 32768) >> 16)) &&
               grey[3 * i] == near[i] && grey[3 * i + 1] == near[i] && grey[3 * i + 2] == near[i];
      }
      CHECK(rgb.back() == 77);
      CHECK(grey.back() == 77);
      INFO(count << " samples");
      CHECK(same);
    }
  });
}

}  // namespace unstarve
