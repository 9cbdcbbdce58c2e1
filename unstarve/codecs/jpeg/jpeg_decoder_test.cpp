#include "unstarve/codecs/jpeg/jpeg_decoder.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/testing/jpeg_bomb.h"
#include "unstarve/codecs/testing/jpeg_samples.h"
#include "unstarve/core/error.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

// The message of the Error(kInput) that decoding `bytes` throws; empty if it succeeds.
std::string failure_of(Decoder& decoder, const std::vector<std::uint8_t>& bytes, const DecodeRequest& request = {}) {
  try {
    Image out;
    decoder.open(bytes);
    decoder.decode(request, out);
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::kInput);
    return error.what();
  }
  return "";
}

std::vector<std::uint8_t> cut(const std::vector<std::uint8_t>& bytes, std::size_t size) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

std::size_t find(const std::vector<std::uint8_t>& bytes, int marker) {
  for (std::size_t at = 0; at + 1 < bytes.size(); ++at) {
    if (bytes[at] == 0xFF && bytes[at + 1] == marker) return at;
  }
  FAIL("the sample has no such marker");
  return 0;
}

double mean_difference(const Image& a, const Image& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.bytes(); ++i) sum += std::abs(a.data()[i] - b.data()[i]);
  return sum / static_cast<double>(a.bytes());
}

}  // namespace

TEST_CASE("every kind of JPEG decodes to nearly the original image", "[codecs]") {
  Decoder decoder;
  // Smooth, so that chroma subsampling loses little.
  Image image({61, 47});
  for (int y = 0; y < 47; ++y) {
    for (int x = 0; x < 61; ++x) {
      std::uint8_t* pixel = image.row(y) + x * kChannels;
      pixel[0] = static_cast<std::uint8_t>(40 + 2 * x);
      pixel[1] = static_cast<std::uint8_t>(50 + 3 * y);
      pixel[2] = static_cast<std::uint8_t>(200 - x - y);
    }
  }
  for (JpegSample sample : all_jpeg_samples()) {
    sample.quality = 95;
    INFO(sample.name);
    Image expected = crop_of(image, {0, 0, 61, 47});
    if (sample.colour == SampleColour::kGrey) {
      for (std::size_t i = 0; i < image.bytes(); ++i) expected.data()[i] = image.data()[i / 3 * 3 + 1];
    } else if (sample.colour == SampleColour::kCmyk || sample.colour == SampleColour::kYcck) {
      for (std::size_t i = 0; i < image.bytes(); ++i) {
        const int black = 255 - image.data()[i / 3 * 3 + 2] / 2;
        expected.data()[i] = static_cast<std::uint8_t>((image.data()[i] * black + 127) / 255);
      }
    }
    Image out;
    const auto bytes = make_jpeg(image, sample);
    const ImageHeader header = decoder.open(bytes);
    CHECK(header.encoding == Encoding::kJpeg);
    CHECK(header.size == image.size());
    decoder.decode({}, out);
    REQUIRE(out.size() == image.size());
    CHECK(mean_difference(out, expected) < 4.0);
  }
}

TEST_CASE("a JPEG truncated at any length is rejected", "[codecs]") {
  Decoder decoder;
  for (const JpegSample& sample : all_jpeg_samples()) {
    const auto bytes = make_jpeg(sample_image({33, 29}, 2), sample);
    REQUIRE(failure_of(decoder, bytes).empty());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      INFO(sample.name << ", " << size << " of " << bytes.size() << " bytes");
      CHECK_FALSE(failure_of(decoder, cut(bytes, size)).empty());
    }
    CHECK(failure_of(decoder, cut(bytes, bytes.size() - 2)).find("truncated") != std::string::npos);
    CHECK(failure_of(decoder, bytes).empty());
  }
}

TEST_CASE("a JPEG whose data segment ends early is rejected with the row in the message", "[codecs]") {
  Decoder decoder;
  auto bytes = cut(make_jpeg(sample_image({64, 64}, 2), {}), 1500);
  bytes.insert(bytes.end(), {0xFF, 0xD9});
  const std::string message = failure_of(decoder, bytes);
  CHECK(message.find("truncated or damaged") != std::string::npos);
  CHECK(message.find("of 64") != std::string::npos);
}

TEST_CASE("a part of a JPEG above the damage decodes", "[codecs]") {
  Decoder decoder;
  const auto bytes = make_jpeg(sample_image({64, 256}, 2), {"4:4:4", 1, 1});
  const auto broken = cut(bytes, bytes.size() / 2);
  Image part, whole;
  decoder.open(broken);
  decoder.decode({{5, 10, 20, 30}, 1}, part);
  decoder.open(bytes);
  decoder.decode({}, whole);
  CHECK(same_pixels(part, crop_of(whole, {5, 10, 20, 30})));
}

TEST_CASE("randomly changed bytes result in an image or an error", "[codecs]") {
  Decoder decoder;
  int rejected = 0;
  for (const JpegSample& sample : all_jpeg_samples()) {
    const auto bytes = make_jpeg(sample_image({40, 40}, 4), sample);
    for (std::uint32_t i = 0; i < 150; ++i) {
      Random random(13, 0, i, 0);
      auto damaged = bytes;
      for (int k = 0; k < 3; ++k) {
        damaged[2 + random.below(static_cast<std::uint32_t>(bytes.size()) - 2)] =
            static_cast<std::uint8_t>(random.bits());
      }
      rejected += failure_of(decoder, damaged).empty() ? 0 : 1;
    }
    CHECK(failure_of(decoder, bytes).empty());
  }
  CHECK(rejected > 100);
}

TEST_CASE("a header of 60,000 x 60,000 pixels is rejected", "[codecs]") {
  Decoder decoder;
  auto bytes = jpeg_bomb(make_jpeg(sample_image({16, 16}, 1), {}));
  const std::size_t frame = find(bytes, 0xC0);
  CHECK_THROWS_WITH(decoder.open(bytes),
                    "jpeg too large: 60000 x 60000 pixels; expected at most the decoder's pixel limit of 268435456; "
                    "scale it down or remove it");
  // Above libjpeg's own limit for a side.
  bytes[frame + 5] = bytes[frame + 6] = 0xFF;
  CHECK_THROWS_WITH(decoder.open(bytes), Catch::Contains("65500"));
}

TEST_CASE("a 12-bit JPEG is rejected with libjpeg-turbo's message", "[codecs]") {
  Decoder decoder;
  auto bytes = make_jpeg(sample_image({16, 16}, 1), {});
  const std::size_t frame = find(bytes, 0xC0);
  bytes[frame + 1] = 0xC1;  // extended: baseline allows only 8 bits
  bytes[frame + 4] = 12;
  // libjpeg-turbo 2 supports only 8 bits; 3 opens such files for separate functions.
  const auto decode = [&] {
    const JpegKind kind = decoder.open(bytes).jpeg;
    CHECK(kind == JpegKind::kDepth);
    Image out;
    decoder.decode({}, out);
  };
  CHECK_THROWS_WITH(decode(), Catch::StartsWith("JPEG: Unsupported JPEG data precision 12"));
  CHECK_FALSE(decoder.used_own_decoder());
}

TEST_CASE("lossless and hierarchical JPEG are named as such", "[codecs]") {
  const auto why = [](std::uint8_t process) {
    auto bytes = make_jpeg(sample_image({16, 16}, 1), {});
    bytes[find(bytes, 0xC0) + 1] = process;
    Decoder decoder;
    try {
      (void)decoder.open(bytes);
      Image out;
      decoder.decode({}, out);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(why(0xC3), Catch::StartsWith("JPEG: found a lossless JPEG (SOF3)") &&
                            Catch::EndsWith("expected baseline, extended or progressive. Convert the image."));
  CHECK_THAT(why(0xCB), Catch::Contains("a lossless JPEG (SOF11)"));
  CHECK_THAT(why(0xC8), Catch::Contains("a reserved JPEG (SOF8)"));
  CHECK_THAT(why(0xC5), Catch::Contains("a hierarchical JPEG (SOF5)"));
}

TEST_CASE("a two-component JPEG is rejected", "[codecs]") {
  Decoder decoder;
  auto bytes = make_jpeg(sample_image({16, 16}, 1), {"4:4:4", 1, 1});
  const std::size_t frame = find(bytes, 0xC0);
  const auto erase = [&bytes](std::size_t at, int count) {
    bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                bytes.begin() + static_cast<std::ptrdiff_t>(at) + count);
  };
  // Removes the third component from the frame header and the scan header.
  bytes[frame + 9] = 2;
  bytes[frame + 3] -= 3;
  erase(frame + 16, 3);
  const std::size_t scan = find(bytes, 0xDA);
  bytes[scan + 4] = 2;
  bytes[scan + 3] -= 2;
  erase(scan + 9, 2);
  CHECK_THROWS_WITH(decoder.open(bytes), Catch::Contains("2 colour components"));
}

TEST_CASE("irregularities of real datasets are accepted", "[codecs]") {
  Decoder decoder;
  const auto bytes = make_jpeg(sample_image({40, 40}, 4), {});
  Image expected, out;
  decoder.open(bytes);
  decoder.decode({}, expected);
  const auto check_accepted = [&](const std::vector<std::uint8_t>& variant) {
    decoder.open(variant);
    decoder.decode({}, out);
    CHECK(same_pixels(out, expected));
  };
  SECTION("bytes between segments") {
    auto variant = bytes;
    variant.insert(variant.begin() + static_cast<std::ptrdiff_t>(find(bytes, 0xDB)), {1, 2, 3});
    check_accepted(variant);
  }
  SECTION("bytes before the end-of-image marker") {
    auto variant = bytes;
    variant.insert(variant.end() - 2, {1, 2, 3});
    check_accepted(variant);
  }
  SECTION("bytes after the end-of-image marker") {
    auto variant = bytes;
    variant.insert(variant.end(), 1000, 7);
    check_accepted(variant);
  }
  SECTION("an unknown JFIF version") {
    auto variant = bytes;
    variant[find(bytes, 0xE0) + 9] = 0;
    check_accepted(variant);
  }
  SECTION("meaningless scan parameters") {
    auto variant = bytes;
    const std::size_t scan = find(bytes, 0xDA);
    variant[scan + 12] = 0;  // Se
    check_accepted(variant);
  }
}

TEST_CASE("an image's tables do not leak into the next image", "[codecs]") {
  Decoder decoder;
  const auto bytes = make_jpeg(sample_image({40, 40}, 4), {});
  REQUIRE(failure_of(decoder, bytes).empty());
  auto without = bytes;
  for (int table = 0; table < 2; ++table) {
    const std::size_t at = find(without, 0xDB);
    const std::size_t length = 2 + (static_cast<std::size_t>(without[at + 2]) << 8 | without[at + 3]);
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(at),
                  without.begin() + static_cast<std::ptrdiff_t>(at + length));
  }
  CHECK(failure_of(decoder, without).find("Quantization table") != std::string::npos);
}

TEST_CASE("a progressive JPEG of thousands of scans is rejected", "[codecs]") {
  Decoder decoder;
  const auto bytes = make_jpeg(sample_image({16, 16}, 4), {"progressive", 1, 1, SampleColour::kGrey, true});
  // A scan with "end of block" for each of the four blocks: a table whose only code, 0, means end of block; the scan
  // header; four zero bits and padding.
  const std::vector<std::uint8_t> scan = {0xFF, 0xC4, 0, 20, 0x10, 1,    0,    0, 0, 0, 0, 0, 0, 0,  0, 0,   0,
                                          0,    0,    0, 0,  0,    0xFF, 0xDA, 0, 8, 1, 1, 0, 1, 63, 0, 0x0F};
  std::vector<std::uint8_t> many(bytes.begin(), bytes.end() - 2);
  const auto add_scans = [&](int count) {
    for (int i = 0; i < count; ++i) many.insert(many.end(), scan.begin(), scan.end());
  };
  const std::vector<std::uint8_t> end = {0xFF, 0xD9};
  add_scans(400);
  std::vector<std::uint8_t> some = many;
  some.insert(some.end(), end.begin(), end.end());
  CHECK(failure_of(decoder, some).empty());
  add_scans(2000);
  many.insert(many.end(), end.begin(), end.end());
  const std::string message = failure_of(decoder, many);
  CHECK(message.find("more than 500 scans") != std::string::npos);
}

TEST_CASE("an error names the row of the damage for every region and size", "[codecs]") {
  Decoder decoder;
  for (const int vertical : {1, 2}) {
    const auto whole =
        make_jpeg(sample_image({64, 320}, 4), JpegSample{"", vertical, vertical, SampleColour::kYcc, false});
    auto bytes = cut(whole, whole.size() / 3);
    bytes.insert(bytes.end(), {0xFF, 0xD9});
    const std::string message = failure_of(decoder, bytes);
    const std::size_t at = message.find("at row ");
    REQUIRE(at != std::string::npos);
    const int row = std::stoi(message.substr(at + 7));
    CHECK(row > 64);
    CHECK(row < 160);
    const std::string expected = message.substr(at, message.find(" of 320", at) + 7 - at);
    for (const int y : {0, row + 1, 300}) {
      for (const int reduction : {1, 2, 4}) {
        DecodeRequest request;
        request.crop = {8, y, 16, 320 - y};
        request.reduction = reduction;
        INFO(vertical << ", from row " << y << ", reduced by " << reduction);
        CHECK_THAT(failure_of(decoder, bytes, request), Catch::Contains(expected));
      }
    }
  }
}

TEST_CASE("an error names a row of the image that failed, not one of the image before", "[codecs]") {
  Decoder decoder;
  const auto kind = [](bool progressive) { return JpegSample{"", 2, 2, SampleColour::kYcc, progressive}; };
  REQUIRE(failure_of(decoder, make_jpeg(sample_image({40, 480}, 4), kind(true))).empty());
  auto cut = make_jpeg(sample_image({40, 71}, 4), kind(true));
  cut.resize(cut.size() / 2);
  const std::string message = failure_of(decoder, cut);
  CHECK_FALSE(message.empty());
  CHECK(message.find("at row") == std::string::npos);  // the scans are read before the first row
}

}  // namespace unstarve
