// Headers that declare more than their data can hold are rejected before allocation; files with the shortest possible
// data decode.
#include "unstarve/codecs/jpeg/libjpeg/least_scan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/testing/jpeg_samples.h"

namespace unstarve {
namespace {

using Bytes = std::vector<std::uint8_t>;

// The same file with another size in its header.
Bytes claiming(Bytes bytes, Size size) {
  for (std::size_t i = 0; i + 9 < bytes.size(); ++i) {
    if (bytes[i] != 0xFF || bytes[i + 1] < 0xC0 || bytes[i + 1] > 0xCA || bytes[i + 1] == 0xC4) continue;
    bytes[i + 5] = static_cast<std::uint8_t>(size.height >> 8);
    bytes[i + 6] = static_cast<std::uint8_t>(size.height & 255);
    bytes[i + 7] = static_cast<std::uint8_t>(size.width >> 8);
    bytes[i + 8] = static_cast<std::uint8_t>(size.width & 255);
    return bytes;
  }
  FAIL("no frame header");
  return bytes;
}

Image flat(Size size) {
  Image image(size);
  std::fill_n(image.data(), image.bytes(), std::uint8_t{128});
  return image;
}

std::vector<JpegSample> optimised_samples() {
  std::vector<JpegSample> samples = all_jpeg_samples();
  for (JpegSample& sample : samples) sample.optimised = !sample.arithmetic;
  return samples;
}

}  // namespace

TEST_CASE("files with the minimum data for their size decode, whole and in part", "[codecs]") {
  Decoder decoder;
  Image out;
  for (const JpegSample& sample : optimised_samples()) {
    for (const Size size : {Size{8, 8}, Size{17, 40}, Size{64, 64}, Size{203, 9}, Size{5, 130}}) {
      const Bytes bytes = make_jpeg(flat(size), sample);
      INFO(sample.name << ", " << size.width << " x " << size.height);
      for (const Rect crop : {Rect{}, Rect{0, 0, 1, size.height}, Rect{size.width - 1, size.height - 1, 1, 1}}) {
        for (const int reduction : {1, 8}) {
          decoder.open(bytes);
          CHECK_NOTHROW(decoder.decode({crop, reduction}, out));
        }
      }
    }
  }
}

TEST_CASE("a header that declares more pixels than its data can hold is rejected before allocation", "[codecs]") {
  Decoder decoder;
  for (const JpegSample& sample : optimised_samples()) {
    if (sample.arithmetic) continue;  // has no minimum size
    const Bytes bytes = claiming(make_jpeg(flat({64, 64}), sample), {16'000, 16'000});
    INFO(sample.name << ", " << bytes.size() << " bytes");
    Image out;
    decoder.open(bytes);
    CHECK_THROWS_WITH(decoder.decode({}, out), Catch::Contains("JPEG: truncated: 16000 rows of 16000 x 16000") &&
                                                   Catch::Contains("require at least"));
    CHECK(out.bytes() == 0);
    // A part above the end of the data decodes, but files with several scans are read completely.
    const Bytes tall = claiming(make_jpeg(flat({64, 64}), sample), {64, 60'000});
    decoder.open(tall);
    if (scan_starts(tall).size() == 1) {
      CHECK_NOTHROW(decoder.decode({{0, 0, 64, 16}, 1}, out));
    } else {
      CHECK_THROWS_WITH(decoder.decode({{0, 0, 64, 16}, 1}, out), Catch::Contains("require at least"));
    }
  }
}

}  // namespace unstarve
