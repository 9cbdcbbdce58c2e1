#include "unstarve/codecs/common/exif.h"

#include <catch2/catch.hpp>

#include "unstarve/codecs/testing/jpeg_samples.h"

namespace unstarve {
namespace {

std::vector<std::uint8_t> plain_jpeg() { return make_jpeg(sample_image({8, 8}, 1), {}); }

}  // namespace

TEST_CASE("EXIF orientation is read in both byte orders", "[codecs]") {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CHECK(exif_orientation(with_orientation(plain_jpeg(), orientation, false)) == orientation);
    CHECK(exif_orientation(with_orientation(plain_jpeg(), orientation, true)) == orientation);
  }
}

TEST_CASE("a file without EXIF orientation, or with a value outside 1..8, has orientation 1", "[codecs]") {
  CHECK(exif_orientation(plain_jpeg()) == 1);
  CHECK(exif_orientation({}) == 1);
  for (const int value : {0, 9, 255, 65535}) CHECK(exif_orientation(with_orientation(plain_jpeg(), value, true)) == 1);
}

TEST_CASE("an EXIF segment is found after another APP1 segment", "[codecs]") {
  std::vector<std::uint8_t> jpeg = with_orientation(plain_jpeg(), 6, false);
  const std::vector<std::uint8_t> xmp = {0xFF, 0xE1, 0, 8, 'h', 't', 't', 'p', ':', '/', 0xFF, 0xFF};
  jpeg.insert(jpeg.begin() + 2, xmp.begin(), xmp.end() - 2);
  CHECK(exif_orientation(jpeg) == 6);
}

TEST_CASE("an EXIF segment truncated or damaged at any byte is read safely", "[codecs]") {
  const std::vector<std::uint8_t> jpeg = with_orientation(plain_jpeg(), 6, true);
  for (std::size_t size = 0; size < 60; ++size) {
    // A copy of the exact size, so that a sanitizer detects reads beyond its end.
    const std::vector<std::uint8_t> cut(jpeg.begin(), jpeg.begin() + static_cast<std::ptrdiff_t>(size));
    const int orientation = exif_orientation(cut);
    CHECK((orientation == 1 || orientation == 6));
  }
  for (std::size_t at = 2; at < 60; ++at) {
    for (const int value : {0x00, 0x7F, 0x80, 0xFF}) {
      std::vector<std::uint8_t> damaged = jpeg;
      damaged[at] = static_cast<std::uint8_t>(value);
      const int orientation = exif_orientation(damaged);
      CHECK((orientation >= 1 && orientation <= 8));
    }
  }
}

}  // namespace unstarve
