#include "unstarve/codecs/common/orientation.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <string>

namespace unstarve {
namespace {

// Letters as pixels: "abc/def" is 3 wide, 2 high.
Image image_of(const std::string& text) {
  const auto width = static_cast<int>(text.find('/'));
  Image image({width, 2});
  for (int y = 0; y < 2; ++y) {
    for (int x = 0; x < width; ++x) {
      const char letter = text[static_cast<std::size_t>(y * (width + 1) + x)];
      for (int c = 0; c < kChannels; ++c) image.row(y)[x * kChannels + c] = static_cast<std::uint8_t>(letter + c);
    }
  }
  return image;
}

std::string text_of(const Image& image) {
  std::string text;
  for (int y = 0; y < image.size().height; ++y) {
    if (y > 0) text += '/';
    for (int x = 0; x < image.size().width; ++x) text += static_cast<char>(image.row(y)[x * kChannels]);
  }
  return text;
}

// As in the standard: 6 is "row 0 at the right, column 0 at the top".
const std::array<std::string, 9> kUpright = {"",         "abc/def",  "cba/fed",  "fed/cba", "def/abc",
                                             "ad/be/cf", "da/eb/fc", "fc/eb/da", "cf/be/ad"};

}  // namespace

TEST_CASE("each EXIF orientation turns the stored image as the standard specifies", "[codecs]") {
  const Image stored = image_of("abc/def");
  for (int orientation = 1; orientation <= 8; ++orientation) {
    Image upright;
    turn_upright(stored, orientation, upright);
    CHECK(text_of(upright) == kUpright[static_cast<std::size_t>(orientation)]);
    CHECK(upright.size() == upright_size(stored.size(), orientation));
  }
}

TEST_CASE("a part of the upright image is found in the stored one", "[codecs]") {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Size stored{70, 45};
    Image numbered(stored);
    for (int y = 0; y < stored.height; ++y) {
      for (int x = 0; x < stored.width; ++x) {
        numbered.row(y)[x * 3] = static_cast<std::uint8_t>(x);
        numbered.row(y)[x * 3 + 1] = static_cast<std::uint8_t>(y);
        numbered.row(y)[x * 3 + 2] = 0;
      }
    }
    Image upright;
    turn_upright(numbered, orientation, upright);
    const Rect requested{3, 5, 40, 33};
    const Rect rect = stored_rect(requested, stored, orientation);
    Image part(rect.size());
    for (int y = 0; y < rect.height; ++y) {
      std::copy_n(numbered.row(rect.y + y) + rect.x * 3, part.row_bytes(), part.row(y));
    }
    Image turned;
    turn_upright(part, orientation, turned);
    REQUIRE(turned.size() == requested.size());
    bool same = true;
    for (int y = 0; y < requested.height; ++y) {
      same = same && std::equal(turned.row(y), turned.row(y) + turned.row_bytes(),
                                upright.row(y + requested.y) + requested.x * 3);
    }
    CHECK(same);
  }
}

// Enough rows that the strip is emptied several times, with different numbers of rows.
TEST_CASE("turning row by row equals turning the whole image", "[codecs]") {
  Image stored({77, 301});
  for (std::size_t i = 0; i < stored.bytes(); ++i) stored.data()[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  AlignedBytes strip;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const int most : {1, 8, 13, 64, 100}) {
      INFO("orientation " << orientation << ", " << most << " rows per call");
      Image upright, expected;
      turn_upright(stored, orientation, expected);
      TurnedRows rows(orientation, strip, upright);
      // begin() discards the rows before it.
      for (const int height : {50, stored.size().height}) {
        rows.begin(stored.size());
        for (int y = 0; y < height; y += most) {
          const int count = std::min(most, height - y);
          std::ptrdiff_t stride = 0;
          std::uint8_t* const room = rows.room(count, stride);
          for (int i = 0; i < count; ++i) {
            std::fill_n(std::copy_n(stored.row(y + i), stored.row_bytes(), room + i * stride), 64, std::uint8_t{255});
          }
          rows.take(count);
        }
      }
      REQUIRE(upright.size() == expected.size());
      CHECK(std::equal(expected.data(), expected.data() + expected.bytes(), upright.data()));
    }
  }
}

}  // namespace unstarve
