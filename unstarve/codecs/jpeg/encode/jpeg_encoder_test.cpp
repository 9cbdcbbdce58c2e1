// Compares files of our encoder with those of libjpeg-turbo, byte for byte. For photographs see golden_test.cpp.
#include "unstarve/codecs/jpeg/encode/jpeg_encoder.h"

#include <catch2/catch.hpp>
#include <functional>

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/testing/jpeg_samples.h"
#include "unstarve/core/error.h"
#include "unstarve/core/random.h"
#include "unstarve/core/simd_test_support.h"

namespace unstarve {
namespace {

constexpr ChromaSampling kSamplings[] = {ChromaSampling::k444, ChromaSampling::k422, ChromaSampling::k420};

std::vector<std::uint8_t> by_libjpeg(const Image& image, int quality, ChromaSampling sampling) {
  JpegSample sample;
  sample.horizontal = sampling == ChromaSampling::k444 ? 1 : 2;
  sample.vertical = sampling == ChromaSampling::k420 ? 2 : 1;
  sample.quality = quality;
  return make_jpeg(image, sample);
}

Image image_of(Size size, const std::function<std::uint8_t(int x, int y, int c)>& value) {
  Image image(size);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < kChannels; ++c) image.row(y)[x * kChannels + c] = value(x, y, c);
    }
  }
  return image;
}

// Images at an encoder's limits: the largest coefficients, the longest codes, blocks without or with little detail,
// long runs of zeros.
std::vector<Image> made_images() {
  Random random(5, 0, 0, 0);
  const auto noise = [&](int, int, int) { return static_cast<std::uint8_t>(random.bits()); };
  const auto black_or_white = [&](int, int, int) { return static_cast<std::uint8_t>(random.below(2) * 255); };
  const auto checks = [](int x, int y, int) { return static_cast<std::uint8_t>((x + y) % 2 * 255); };
  const auto stripes = [](int x, int, int) { return static_cast<std::uint8_t>(x % 2 * 255); };
  const auto squares = [](int x, int y, int) { return static_cast<std::uint8_t>((x / 8 + y / 8) % 2 * 255); };
  const auto primaries = [](int x, int y, int c) {
    return static_cast<std::uint8_t>((x / 16 + y / 16) % 3 == c ? 255 : 0);
  };
  const auto flat = [](int, int, int c) { return static_cast<std::uint8_t>(40 * c + 3); };
  const auto dots = [&](int, int, int) { return static_cast<std::uint8_t>(random.below(300) == 0 ? 255 : 128); };
  // A single high frequency, after many zeros.
  const auto ripple = [](int x, int y, int) {
    return static_cast<std::uint8_t>(128 + ((x + y) % 2 * 2 - 1) * (x / 8 % 20));
  };
  std::vector<Image> images;
  const Size size{93, 61};
  for (const auto& value : std::vector<std::function<std::uint8_t(int, int, int)>>{
           noise, black_or_white, checks, stripes, squares, primaries, flat, dots, ripple}) {
    images.push_back(image_of(size, value));
  }
  images.push_back(sample_image(size, 9));
  return images;
}

}  // namespace

TEST_CASE("images of every size up to a few MCUs encode to libjpeg-turbo's bytes", "[codecs]") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    JpegEncoder encoder;
    std::vector<std::uint8_t> out;
    for (int height = 1; height <= 35; height += height < 18 ? 1 : 5) {
      for (int width = 1; width <= 70; width += width < 34 ? 1 : 7) {
        const Image image = sample_image({width, height}, static_cast<std::uint32_t>(width + 100 * height));
        const int quality = 1 + (width * 37 + height * 11) % 100;
        const ChromaSampling sampling = kSamplings[(width + height) % 3];
        encoder.encode(image.view(), quality, sampling, out);
        INFO(width << " x " << height << ", quality " << quality << ", sampling " << static_cast<int>(sampling));
        const bool same = out == by_libjpeg(image, quality, sampling);
        REQUIRE(same);
      }
    }
  });
}

TEST_CASE("images of every kind encode to libjpeg-turbo's bytes at every quality", "[codecs]") {
  const std::vector<Image> images = made_images();
  JpegEncoder encoder;
  std::vector<std::uint8_t> out;
  for (int quality = 1; quality <= 100; ++quality) {
    for (std::size_t i = 0; i < images.size(); ++i) {
      for (const ChromaSampling sampling : kSamplings) {
        encoder.encode(images[i].view(), quality, sampling, out);
        INFO("image " << i << ", quality " << quality << ", sampling " << static_cast<int>(sampling));
        const bool same = out == by_libjpeg(images[i], quality, sampling);
        REQUIRE(same);
      }
    }
  }
}

TEST_CASE("images of every kind encode to libjpeg-turbo's bytes on every instruction set", "[codecs]") {
  const std::vector<Image> images = made_images();
  testing::on_every_target([&](const std::string& target) {
    JpegEncoder encoder;
    std::vector<std::uint8_t> out;
    for (const int quality : {1, 30, 75, 92, 100}) {
      for (std::size_t i = 0; i < images.size(); ++i) {
        encoder.encode(images[i].view(), quality, ChromaSampling::k420, out);
        INFO(target << ", image " << i << ", quality " << quality);
        const bool same = out == by_libjpeg(images[i], quality, ChromaSampling::k420);
        REQUIRE(same);
      }
    }
  });
}

TEST_CASE("images of maximum width and height encode to libjpeg-turbo's bytes", "[codecs]") {
  JpegEncoder encoder;
  std::vector<std::uint8_t> out;
  for (const Size size : {Size{kMaxSide, 3}, Size{2, kMaxSide}}) {
    const Image image =
        image_of(size, [](int x, int y, int c) { return static_cast<std::uint8_t>(x * y + x + y * 7 + 50 * c); });
    encoder.encode(image.view(), 100, ChromaSampling::k420, out);
    const bool same = out == by_libjpeg(image, 100, ChromaSampling::k420);
    CHECK(same);
  }
}

TEST_CASE("an encoder's output does not depend on earlier images or on the contents of its target", "[codecs]") {
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

}  // namespace unstarve
