#include "unstarve/codecs/common/encode.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/testing/jpeg_samples.h"
#include "unstarve/core/error.h"

namespace unstarve {
namespace {

Image decoded(const std::vector<std::uint8_t>& bytes) {
  Decoder decoder;
  Image out;
  decoder.open(bytes);
  decoder.decode({}, out);
  return out;
}

}  // namespace

TEST_CASE("PNG encoding is lossless", "[codecs]") {
  for (const Size size : {Size{1, 1}, Size{3, 200}, Size{131, 67}}) {
    const Image image = sample_image(size, 2);
    CHECK(same_pixels(decoded(encode_png(image.view())), image));
  }
}

TEST_CASE("planar, strided and interleaved views of the same pixels encode to the same bytes", "[codecs]") {
  const Size size{37, 23};
  const Image image = sample_image(size, 2);
  std::vector<std::uint8_t> planar(image.bytes());
  std::vector<std::uint8_t> strided(5 * 40 * 23);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < kChannels; ++c) {
        const std::uint8_t value = image.view().at(x, y, c);
        planar[static_cast<std::size_t>((c * size.height + y) * size.width + x)] = value;
        strided[static_cast<std::size_t>(y * 5 * 40 + x * 5 + c)] = value;
      }
    }
  }
  const PixelView planar_view{planar.data(), size.width, size.height, size.width, 1, size.width * size.height};
  const PixelView strided_view{strided.data(), size.width, size.height, 5 * 40, 5, 1};
  const PixelView upside_down{image.row(size.height - 1),
                              size.width,
                              size.height,
                              -static_cast<std::ptrdiff_t>(image.row_bytes()),
                              kChannels,
                              1};
  const auto png = encode_png(image.view());
  CHECK(encode_png(planar_view) == png);
  CHECK(encode_png(strided_view) == png);
  const auto jpeg = encode_jpeg(image.view(), 80);
  CHECK(encode_jpeg(planar_view, 80) == jpeg);
  CHECK(encode_jpeg(strided_view, 80) == jpeg);
  const Image turned = decoded(encode_png(upside_down));
  CHECK(same_pixels(crop_of(turned, {0, 0, size.width, 1}), crop_of(image, {0, size.height - 1, size.width, 1})));
}

TEST_CASE("JPEG quality and sampling trade file size for accuracy", "[codecs]") {
  const Image image = sample_image({200, 150}, 2);
  const auto difference = [&image](const std::vector<std::uint8_t>& bytes) {
    const Image out = decoded(bytes);
    double sum = 0;
    for (std::size_t i = 0; i < image.bytes(); ++i) sum += std::abs(image.data()[i] - out.data()[i]);
    return sum;
  };
  const auto best = encode_jpeg(image.view(), 95, ChromaSampling::k444);
  const auto half = encode_jpeg(image.view(), 95, ChromaSampling::k422);
  const auto quarter = encode_jpeg(image.view(), 95, ChromaSampling::k420);
  const auto poor = encode_jpeg(image.view(), 20, ChromaSampling::k420);
  CHECK(best.size() > half.size());
  CHECK(half.size() > quarter.size());
  CHECK(quarter.size() > poor.size());
  CHECK(difference(best) < difference(half));
  CHECK(difference(half) < difference(quarter));
  CHECK(difference(quarter) < difference(poor));
}

TEST_CASE("encoding an empty or too large image, or at a quality outside 1..100, is an argument error", "[codecs]") {
  const Image image = sample_image({4, 4}, 1);
  CHECK_THROWS_AS(encode_jpeg(PixelView{}, 90), Error);
  CHECK_THROWS_AS(encode_png(PixelView{}), Error);
  CHECK_THROWS_WITH(encode_jpeg(image.view(), 0), Catch::Contains("quality 0"));
  CHECK_THROWS_WITH(encode_jpeg(image.view(), 101), Catch::Contains("quality 101"));
  PixelView wide = image.view();
  wide.width = kMaxSide + 1;
  CHECK_THROWS_AS(encode_png(wide), Error);
}

}  // namespace unstarve
