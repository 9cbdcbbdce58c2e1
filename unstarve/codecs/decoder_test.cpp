#include "unstarve/codecs/decoder.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/codecs/testing/jpeg_samples.h"
#include "unstarve/core/error.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

ErrorKind kind_of(Decoder& decoder, const DecodeRequest& request) {
  try {
    Image out;
    decoder.decode(request, out);
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("no error");
  return ErrorKind::kInternal;
}

}  // namespace

TEST_CASE("the format is detected from the first bytes", "[codecs]") {
  const Image image = sample_image({9, 7}, 1);
  CHECK(detect_encoding(encode_jpeg(image.view(), 90)) == Encoding::kJpeg);
  CHECK(detect_encoding(encode_png(image.view())) == Encoding::kPng);
  const std::vector<std::uint8_t> webp = {'R', 'I', 'F', 'F', 4, 0, 0, 0, 'W', 'E', 'B', 'P'};
  CHECK(detect_encoding(webp) == Encoding::kWebp);
  CHECK(detect_encoding(std::span(webp).first(11)) == Encoding::kUnknown);
  CHECK_FALSE(can_reduce(Encoding::kWebp));
  CHECK(detect_encoding({}) == Encoding::kUnknown);
  CHECK(detect_encoding(std::vector<std::uint8_t>(100, 0xFF)) == Encoding::kUnknown);
  CHECK(std::string(to_string(Encoding::kJpeg)) == "jpeg");
}

TEST_CASE("a file that is not an image is rejected with its first bytes in the message", "[codecs]") {
  Decoder decoder;
  CHECK_THROWS_WITH(decoder.open({}), Catch::Contains("0 bytes"));
  const std::vector<std::uint8_t> gif = {'G', 'I', 'F', '8'};
  CHECK_THROWS_WITH(decoder.open(gif), Catch::Contains("47 49 46 38"));
  for (std::uint32_t i = 0; i < 300; ++i) {
    Random random(3, 0, i, 0);
    std::vector<std::uint8_t> bytes(random.below(200));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.bits());
    if (i % 3 == 1 && bytes.size() >= 3) std::copy_n("\xFF\xD8\xFF", 3, bytes.begin());
    if (i % 4 == 3 && bytes.size() >= 12) std::copy_n("RIFF\0\0\0\0WEBP", 12, bytes.begin());
    if (i % 3 == 2 && bytes.size() >= 8) std::copy_n("\x89PNG\r\n\x1A\n", 8, bytes.begin());
    CHECK_THROWS_AS(decoder.open(bytes), Error);
    CHECK(kind_of(decoder, {}) == ErrorKind::kArgument);
  }
}

TEST_CASE("a crop outside of the image or an invalid reduction is an argument error", "[codecs]") {
  Decoder decoder;
  const Image image = sample_image({20, 10}, 1);
  const auto jpeg = encode_jpeg(image.view(), 90);
  decoder.open(jpeg);
  for (const Rect crop : {Rect{-1, 0, 5, 5}, Rect{0, 0, 21, 5}, Rect{0, 6, 5, 5}, Rect{16, 0, 5, 5}, Rect{0, 0, 5, 0},
                          Rect{0, 0, -1, 5}, Rect{2147483647, 0, 5, 5}}) {
    CHECK(kind_of(decoder, {crop, 1}) == ErrorKind::kArgument);
  }
  for (const int reduction : {0, -1, 3, 16}) CHECK(kind_of(decoder, {{}, reduction}) == ErrorKind::kArgument);
  // The image is still open.
  Image out;
  decoder.decode({{16, 0, 4, 5}, 1}, out);
  CHECK(out.size() == Size{4, 5});

  const auto png = encode_png(image.view());
  decoder.open(png);
  CHECK(kind_of(decoder, {{}, 2}) == ErrorKind::kArgument);
}

TEST_CASE("decoding twice or without opening is an argument error", "[codecs]") {
  Decoder decoder;
  CHECK(kind_of(decoder, {}) == ErrorKind::kArgument);
  const Image image = sample_image({20, 10}, 1);
  for (const auto& bytes : {encode_jpeg(image.view(), 90), encode_png(image.view())}) {
    Image out;
    decoder.open(bytes);
    decoder.decode({}, out);
    CHECK(kind_of(decoder, {}) == ErrorKind::kArgument);
  }
}

TEST_CASE("one decoder alternates between formats, also after opening without decoding", "[codecs]") {
  Decoder decoder;
  const Image image = sample_image({33, 21}, 1);
  const auto jpeg = encode_jpeg(image.view(), 90);
  const auto png = encode_png(image.view());
  Image first, out;
  decoder.open(jpeg);
  decoder.decode({}, first);
  for (int i = 0; i < 3; ++i) {
    decoder.open(jpeg);
    decoder.open(png);
    decoder.decode({}, out);
    CHECK(same_pixels(out, image));
    decoder.open(jpeg);
    decoder.open(jpeg);
    decoder.decode({}, out);
    CHECK(same_pixels(out, first));
  }
  Decoder moved = std::move(decoder);
  moved.open(jpeg);
  moved.decode({}, out);
  CHECK(same_pixels(out, first));
}

TEST_CASE("the header contains size, orientation and components", "[codecs]") {
  Decoder decoder;
  const auto grey =
      with_orientation(make_jpeg(sample_image({30, 20}, 1), {"grey", 1, 1, SampleColour::kGrey}), 6, true);
  const ImageHeader header = decoder.open(grey);
  CHECK(header.size == Size{20, 30});
  CHECK(header.orientation == 6);
  CHECK(header.components == 1);
  const auto cmyk = make_jpeg(sample_image({30, 20}, 1), {"CMYK", 1, 1, SampleColour::kCmyk});
  CHECK(decoder.open(cmyk).components == 4);
}

}  // namespace unstarve
