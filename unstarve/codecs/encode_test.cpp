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

TEST_CASE("an encoder writes libjpeg's bytes for every quality, sampling and small size", "[codecs]") {
  JpegEncoder encoder;
  std::vector<std::uint8_t> out;
  const auto check = [&](Size size, int quality, ChromaSampling sampling) {
    const Image image = sample_image(size, static_cast<std::uint32_t>(size.width + 100 * size.height));
    JpegSample sample;
    sample.horizontal = sampling == ChromaSampling::k444 ? 1 : 2;
    sample.vertical = sampling == ChromaSampling::k420 ? 2 : 1;
    sample.quality = quality;
    encoder.encode(image.view(), quality, sampling, out);
    INFO(size.width << " x " << size.height << ", quality " << quality << ", sampling " << static_cast<int>(sampling));
    const bool same = out == make_jpeg(image, sample);
    REQUIRE(same);
  };
  for (const ChromaSampling sampling : {ChromaSampling::k444, ChromaSampling::k422, ChromaSampling::k420}) {
    for (int quality = 1; quality <= 100; ++quality) check({93, 61}, quality, sampling);
    for (int width = 1; width <= 40; width += width < 18 ? 1 : 11) {
      for (int height = 1; height <= 40; height += height < 18 ? 1 : 11) check({width, height}, 90, sampling);
    }
  }
}

TEST_CASE("the largest images encode, larger ones are an argument error", "[codecs]") {
  for (const Size size : {Size{kMaxSide, 3}, Size{2, kMaxSide}}) {
    Image image(size);
    for (std::size_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<std::uint8_t>(i * i >> 7);
    const Image out = decoded(encode_jpeg(image.view(), 100));
    CHECK(out.size() == size);
  }
  const Image image = sample_image({4, 4}, 1);
  PixelView large = image.view();
  large.width = kMaxSide + 1;
  CHECK_THROWS_WITH(encode_jpeg(large, 90), Catch::Contains("65501 x 4"));
  CHECK_THROWS_WITH(encode_png(large), Catch::Contains("65501 x 4"));
}

TEST_CASE("an encoder's output does not depend on earlier images, errors or the contents of its target", "[codecs]") {
  const Image large = sample_image({300, 200}, 1);
  const Image small = sample_image({23, 41}, 2);
  const auto expected = encode_jpeg(small.view(), 60, ChromaSampling::k422);
  JpegEncoder encoder;
  std::vector<std::uint8_t> out(100000, 0xAB);
  encoder.encode(small.view(), 60, ChromaSampling::k422, out);
  CHECK(out == expected);
  encoder.encode(large.view(), 95, ChromaSampling::k444, out);
  CHECK(out == encode_jpeg(large.view(), 95, ChromaSampling::k444));
  CHECK_THROWS_AS(encoder.encode(large.view(), 101, ChromaSampling::k420, out), Error);
  encoder.encode(small.view(), 60, ChromaSampling::k422, out);
  CHECK(out == expected);
}

TEST_CASE("encoding an empty image, or at a quality outside 1..100, is an argument error", "[codecs]") {
  const Image image = sample_image({4, 4}, 1);
  CHECK_THROWS_AS(encode_jpeg(PixelView{}, 90), Error);
  CHECK_THROWS_AS(encode_png(PixelView{}), Error);
  CHECK_THROWS_WITH(encode_jpeg(image.view(), 0), Catch::Contains("quality 0"));
  CHECK_THROWS_WITH(encode_jpeg(image.view(), 101), Catch::Contains("quality 101"));
}

}  // namespace unstarve
