#include "unstarve/codecs/png/png_header.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "unstarve/codecs/common/image_header.h"

namespace unstarve {
namespace {

struct HeaderFields {
  std::uint32_t width = 4, height = 3;
  std::uint8_t depth = 8, colour_type = 2, interlaced = 0;
};

std::vector<std::uint8_t> header_of(const HeaderFields& fields) {
  std::vector<std::uint8_t> bytes{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n', 0, 0, 0, 13, 'I', 'H', 'D', 'R'};
  for (const std::uint32_t side : {fields.width, fields.height})
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(side >> shift));
  bytes.insert(bytes.end(), {fields.depth, fields.colour_type, 0, 0, fields.interlaced});
  bytes.resize(bytes.size() + 4);  // the checksum, which libpng verifies
  return bytes;
}

TEST_CASE("a PNG header has the size, the components and the bytes of a row", "[codecs]") {
  const PngHeader rgb = read_png_header(header_of({}));
  CHECK(rgb.size == Size{4, 3});
  CHECK(rgb.components == 3);
  CHECK_FALSE(rgb.interlaced);
  CHECK(rgb.row_bytes == 1 + 4 * 3);
  CHECK(read_png_header(header_of({.interlaced = 1})).interlaced);
  CHECK(read_png_header(header_of({.width = 5, .depth = 16, .colour_type = 6})).row_bytes == 1 + 5 * 4 * 2);
  const PngHeader grey = read_png_header(header_of({.width = 9, .depth = 1, .colour_type = 0}));
  CHECK(grey.components == 1);
  CHECK(grey.row_bytes == 1 + 2);
  const PngHeader palette = read_png_header(header_of({.width = 3, .depth = 4, .colour_type = 3}));
  CHECK(palette.components == 3);
  CHECK(palette.row_bytes == 1 + 2);  // one index of 4 bits per pixel
}

TEST_CASE("a PNG header that is damaged, or declares an invalid image, is rejected", "[codecs]") {
  const auto message = [](std::vector<std::uint8_t> bytes) {
    CHECK_THROWS_WITH(read_png_header(bytes), Catch::StartsWith("PNG: "));
    try {
      (void)read_png_header(bytes);
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::vector<std::uint8_t> whole = header_of({});
  CHECK_NOTHROW(read_png_header(whole));
  CHECK(message({whole.begin(), whole.end() - 1}) ==
        "PNG: truncated: the file has 32 bytes; expected at least 33 for the header");
  for (const std::size_t at : {0, 7, 11, 15}) {  // the signature, the length and the name of IHDR
    std::vector<std::uint8_t> damaged = whole;
    ++damaged[at];
    CHECK(message(damaged) == "PNG: damaged: the file does not begin with the signature and IHDR");
  }
  CHECK(message(header_of({.width = 0})) == "PNG: empty: 0 x 3 pixels");
  CHECK(message(header_of({.height = kMaxSide + 1})).find("PNG: too large: 4 x ") == 0);
  CHECK(message(header_of({.colour_type = 1})) == "PNG: colour type 1; expected 0, 2, 3, 4 or 6");
  CHECK(message(header_of({.depth = 3})) == "PNG: bit depth 3; expected 1, 2, 4, 8 or 16");
}

TEST_CASE("the length of a PNG is checked against the rows that are decoded", "[codecs]") {
  const std::size_t header_bytes = header_of({}).size();
  PngHeader header = read_png_header(header_of({.width = 344, .height = 1000}));  // rows of 1033 bytes
  const Rect upper{0, 0, 10, 100}, all{0, 0, 344, 1000};
  CHECK_NOTHROW(check_png_length(header, header_bytes + 100, upper));
  CHECK_THROWS_WITH(check_png_length(header, header_bytes + 99, upper),
                    "PNG: truncated: 100 rows of 344 x 1000 pixels require at least 100 bytes, the file has 99 after "
                    "its header");
  CHECK_THROWS(check_png_length(header, header_bytes + 100, all));
  header.interlaced = true;  // any part requires the whole image
  CHECK_THROWS(check_png_length(header, header_bytes + 100, upper));
  CHECK_NOTHROW(check_png_length(header, header_bytes + 1001, upper));
}

}  // namespace
}  // namespace unstarve
