// Compares colour conversion and averaging with their definitions, for every instruction set and length.
#include "unstarve/codecs/jpeg/encode/sampling.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "unstarve/core/random.h"
#include "unstarve/core/simd_test_support.h"

namespace unstarve {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Ycc {
  int y, cb, cr;
};

// jccolor.c: 16-bit fixed point; the rounding term of chroma is one less than a half.
Ycc defined(const std::uint8_t* rgb) {
  const int r = rgb[0], g = rgb[1], b = rgb[2];
  constexpr int kOffset = (128 << 16) + 32767;
  return {(19595 * r + 38470 * g + 7471 * b + 32768) >> 16, (-11059 * r - 21709 * g + 32768 * b + kOffset) >> 16,
          (32768 * r - 27439 * g - 5329 * b + kOffset) >> 16};
}

bool converts(const Bytes& rgb, std::size_t count) {
  const std::size_t room = padded_samples(count);
  Bytes y(room + 1, 77), cb(room + 1, 77), cr(room + 1, 77);
  rgb_to_ycc(rgb.data(), count, y.data(), cb.data(), cr.data());
  bool same = y[room] == 77 && cb[room] == 77 && cr[room] == 77;
  for (std::size_t i = 0; i < (count + 15) / 16 * 16; ++i) {  // the last pixel again up to whole blocks
    const Ycc expected = defined(rgb.data() + 3 * std::min(i, count - 1));
    same = same && y[i] == expected.y && cb[i] == expected.cb && cr[i] == expected.cr;
  }
  return same;
}

}  // namespace

TEST_CASE("rows of any length are converted to luma and chroma and extended to whole blocks", "[codecs]") {
  testing::on_every_target([](const std::string& target) {
    Random random(41, 0, 0, 0);
    for (std::size_t count = 1; count < 300; count += count < 140 ? 1 : 17) {
      Bytes rgb(3 * count);  // exact size, so that sanitizers detect reads past the end
      for (auto& value : rgb) value = static_cast<std::uint8_t>(random.bits());
      INFO(target << ", " << count << " pixels");
      CHECK(converts(rgb, count));
    }
  });
}

TEST_CASE("colours of all kinds, including extremes, are converted as defined", "[codecs]") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    Random random(42, 0, 0, 0);
    bool same = true;
    for (int r = 0; r < 256; ++r) {
      Bytes rgb;
      for (int g = 0; g < 256; ++g) {
        const std::uint32_t kind = random.below(4);
        const auto b = static_cast<std::uint8_t>(kind == 0 ? 0 : kind == 1 ? 255 : random.bits());
        rgb.insert(rgb.end(), {static_cast<std::uint8_t>(r), static_cast<std::uint8_t>(g), b});
      }
      same = same && converts(rgb, 256);
    }
    CHECK(same);
  });
}

TEST_CASE("averages are rounded alternately down and up", "[codecs]") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    Random random(43, 0, 0, 0);
    for (const std::size_t count : {kSampleStep, 3 * kSampleStep, 10 * kSampleStep}) {
      Bytes upper(count), lower(count), one(count / 2 + 1, 77), two(count / 2 + 1, 77);
      for (std::size_t i = 0; i < count; ++i) {
        upper[i] = static_cast<std::uint8_t>(i % 3 == 0 ? 255 : random.bits());
        lower[i] = static_cast<std::uint8_t>(i % 5 < 2 ? 255 : random.bits());
      }
      average_2x1(upper.data(), count, one.data());
      average_2x2(upper.data(), lower.data(), count, two.data());
      bool same = one.back() == 77 && two.back() == 77;
      for (std::size_t i = 0; i < count / 2; ++i) {
        const std::size_t odd = i % 2;
        const std::size_t pair = std::size_t{upper[2 * i]} + upper[2 * i + 1];
        same = same && one[i] == (pair + odd) / 2;
        same = same && two[i] == (pair + lower[2 * i] + lower[2 * i + 1] + 1 + odd) / 4;
      }
      CHECK(same);
    }
  });
}

}  // namespace unstarve
