#include "unstarve/codecs/webp/webp_decoder.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include <webp/decode.h>
#include <webp/encode.h>

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/testing/jpeg_samples.h"
#include "unstarve/core/error.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct WebpSample {
  const char* name;
  bool lossless = false;
  bool alpha = false;
  float quality = 60;
  int filter_type = 1;  // loop filter: 0 simple, 1 strong
  int filter_strength = 60;
  int partitions = 0;  // log2
};

constexpr WebpSample kSamples[] = {
    {"strong filter"},
    {"simple filter", false, false, 30, 0, 100},
    {"no filter", false, false, 90, 1, 0},
    {"eight partitions", false, false, 60, 1, 60, 3},
    {"alpha", false, true},
    {"lossless", true},
    {"lossless with alpha", true, true},
};

// Alpha decreases from left to right, down to 0; the colours are unchanged.
Bytes make_webp(const Image& image, const WebpSample& sample) {
  WebPConfig config;
  REQUIRE(WebPConfigInit(&config) != 0);
  config.lossless = sample.lossless ? 1 : 0;
  config.exact = 1;
  config.quality = sample.quality;
  config.method = 2;
  config.filter_type = sample.filter_type;
  config.filter_strength = sample.filter_strength;
  config.partitions = sample.partitions;
  WebPPicture picture;
  REQUIRE(WebPPictureInit(&picture) != 0);
  picture.use_argb = sample.lossless ? 1 : 0;
  const Size size = image.size();
  picture.width = size.width;
  picture.height = size.height;
  Bytes rgba;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const std::uint8_t* pixel = image.row(y) + x * kChannels;
      rgba.insert(rgba.end(),
                  {pixel[0], pixel[1], pixel[2],
                   static_cast<std::uint8_t>(sample.alpha ? 255 * (size.width - 1 - x) / size.width : 255)});
    }
  }
  REQUIRE(WebPPictureImportRGBA(&picture, rgba.data(), 4 * size.width) != 0);
  WebPMemoryWriter writer;
  WebPMemoryWriterInit(&writer);
  picture.writer = WebPMemoryWrite;
  picture.custom_ptr = &writer;
  REQUIRE(WebPEncode(&config, &picture) != 0);
  Bytes bytes(writer.mem, writer.mem + writer.size);
  WebPMemoryWriterClear(&writer);
  WebPPictureFree(&picture);
  return bytes;
}

Bytes little(std::size_t value, int bytes) {
  Bytes out;
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::uint8_t>(value >> 8 * i));
  return out;
}

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes out;
  for (const Bytes& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

Bytes chunk(const std::string& name, const Bytes& payload) {
  return joined({Bytes(name.begin(), name.end()), little(payload.size(), 4), payload, Bytes(payload.size() % 2, 0)});
}

Bytes file_of(const Bytes& chunks) {
  const std::string webp = "WEBP";
  return chunk("RIFF", joined({Bytes(webp.begin(), webp.end()), chunks}));
}

Bytes canvas(std::uint8_t flags, Size size) {
  return chunk("VP8X", joined({{flags, 0, 0, 0},
                               little(static_cast<std::size_t>(size.width) - 1, 3),
                               little(static_cast<std::size_t>(size.height) - 1, 3)}));
}

// The image's chunks of a file without VP8X.
Bytes chunks_of(const Bytes& webp) { return {webp.begin() + 12, webp.end()}; }

Bytes frame(Rect rect, const Bytes& image) {
  return chunk("ANMF", joined({little(static_cast<std::size_t>(rect.x) / 2, 3),
                               little(static_cast<std::size_t>(rect.y) / 2, 3),
                               little(static_cast<std::size_t>(rect.width) - 1, 3),
                               little(static_cast<std::size_t>(rect.height) - 1, 3),
                               little(100, 3),
                               {0},
                               image}));
}

Bytes animation(Size size, std::initializer_list<Bytes> frames) {
  return file_of(joined({canvas(0x02, size), chunk("ANIM", Bytes(6, 0xFF)), joined(frames)}));
}

// Decoded by libwebp's simplest function.
Image reference(const Bytes& bytes) {
  int width = 0, height = 0;
  std::uint8_t* pixels = WebPDecodeRGB(bytes.data(), bytes.size(), &width, &height);
  REQUIRE(pixels != nullptr);
  Image image({width, height});
  std::copy_n(pixels, image.bytes(), image.data());
  WebPFree(pixels);
  return image;
}

Image decoded(WebpDecoder& decoder, const Bytes& bytes) {
  const Size size = decoder.open(bytes).size;
  Image out;
  decoder.decode({0, 0, size.width, size.height}, out);
  return out;
}

std::string failure_of(WebpDecoder& decoder, const Bytes& bytes) {
  try {
    static_cast<void>(decoded(decoder, bytes));
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::kInput);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("WebP of every kind decodes to libwebp's pixels, lossless to the original pixels", "[codecs]") {
  WebpDecoder decoder;
  for (const WebpSample& sample : kSamples) {
    for (const Size size : {Size{1, 1}, Size{2, 3}, Size{33, 29}, Size{64, 48}}) {
      INFO(sample.name << ", " << size.width << " x " << size.height);
      const Image image = sample_image(size, 3);
      const Bytes bytes = make_webp(image, sample);
      const ImageHeader header = decoder.open(bytes);
      CHECK(header.encoding == Encoding::kWebp);
      CHECK(header.size == size);
      CHECK(header.orientation == 1);
      CHECK(header.components == (sample.alpha ? 4 : 3));
      CHECK(header.lossless == sample.lossless);
      const Image out = decoded(decoder, bytes);
      CHECK(same_pixels(out, reference(bytes)));
      if (sample.lossless) CHECK(same_pixels(out, image));
    }
  }
}

TEST_CASE("a WebP crop equals the crop of the whole image", "[codecs]") {
  WebpDecoder decoder;
  Random random(23, 0, 0, 0);
  Image out;
  for (const WebpSample& sample : kSamples) {
    for (const Size size : {Size{97, 83}, Size{64, 80}}) {
      INFO(sample.name);
      const Bytes bytes = make_webp(sample_image(size, 4), sample);
      const Image whole = reference(bytes);
      int different = 0;
      for (int i = 0; i < 300; ++i) {
        const auto below = [&](int n) { return static_cast<int>(random.below(static_cast<std::uint32_t>(n))); };
        Rect rect{0, 0, 1 + below(size.width), 1 + below(size.height)};
        rect.x = below(size.width - rect.width + 1);
        rect.y = below(size.height - rect.height + 1);
        decoder.open(bytes);
        decoder.decode(rect, out);
        different += same_pixels(out, crop_of(whole, rect)) ? 0 : 1;
      }
      CHECK(different == 0);
    }
  }
}

TEST_CASE("a WebP truncated at any length is rejected", "[codecs]") {
  WebpDecoder decoder;
  for (const WebpSample& sample : kSamples) {
    const Bytes bytes = make_webp(sample_image({20, 20}, 5), sample);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      INFO(sample.name << ": " << size << " of " << bytes.size() << " bytes");
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      CHECK(failure_of(decoder, cut).find("truncated") != std::string::npos);
    }
    // With sizes adjusted to the truncated length: libwebp detects the end.
    const Bytes half(bytes.begin() + 20, bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2));
    if (!sample.alpha || sample.lossless) {
      CHECK_FALSE(failure_of(decoder, file_of(chunk(sample.lossless ? "VP8L" : "VP8 ", half))).empty());
    }
    CHECK(failure_of(decoder, bytes).empty());
  }
}

TEST_CASE("a WebP with any byte changed is rejected or decodes, and does not affect the next file", "[codecs]") {
  WebpDecoder decoder;
  for (const WebpSample& sample : kSamples) {
    const Bytes bytes = make_webp(sample_image({20, 20}, 5), sample);
    const Image whole = reference(bytes);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      Bytes damaged = bytes;
      damaged[at] ^= 0x10;
      const std::string message = failure_of(decoder, damaged);
      if (at < 4 || (at >= 8 && at < 16)) CHECK_FALSE(message.empty());
    }
    CHECK(same_pixels(decoded(decoder, bytes), whole));
  }
}

TEST_CASE("a WebP is decoded once per open(), even if decoding failed", "[codecs]") {
  WebpDecoder decoder;
  const Bytes bytes = make_webp(sample_image({20, 20}, 5), kSamples[5]);
  Bytes damaged = bytes;
  std::fill(damaged.begin() + 40, damaged.end(), 0xFF);
  Image out;
  CHECK_FALSE(failure_of(decoder, damaged).empty());
  for (const Bytes& each : {bytes, damaged}) {
    static_cast<void>(failure_of(decoder, each));
    CHECK_THROWS_WITH(decoder.decode({0, 0, 20, 20}, out), Catch::Contains("without a preceding open()"));
  }
}

TEST_CASE("the orientation of a WebP file's EXIF chunk is applied", "[codecs]") {
  const Image image = sample_image({21, 13}, 6);
  const Bytes plain = make_webp(image, {"lossless", true});
  const Bytes exif = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0};
  const Bytes name = {'E', 'x', 'i', 'f', 0, 0};
  Decoder decoder;
  Image out;
  for (const Bytes& payload : {exif, joined({name, exif})}) {
    const Bytes turned =
        file_of(joined({canvas(0x08, image.size()), chunks_of(plain), chunk("odd ", {1}), chunk("EXIF", payload)}));
    const ImageHeader header = decoder.open(turned);
    CHECK(header.orientation == 6);
    CHECK(header.size == Size{13, 21});
    decoder.decode({}, out);
    // 6: the stored rows become columns, the first of them at the right.
    for (int y = 0; y < 21; ++y) {
      for (int x = 0; x < 13; ++x) REQUIRE(out.view().at(x, y, 1) == image.view().at(y, 12 - x, 1));
    }
    Image part;
    decoder.open(turned);
    decoder.decode({{2, 3, 9, 11}, 1}, part);
    CHECK(same_pixels(part, crop_of(out, {2, 3, 9, 11})));
  }
  // Without the flag that announces it, and if the chunk is truncated or missing, the image is not turned.
  for (const Bytes& stored : {file_of(joined({canvas(0, image.size()), chunks_of(plain), chunk("EXIF", exif)})),
                              file_of(joined({canvas(0x08, image.size()), chunks_of(plain), chunk("EXIF", {'I'})})),
                              file_of(joined({canvas(0x08, image.size()), chunks_of(plain)}))}) {
    CHECK(decoder.open(stored).orientation == 1);
    decoder.decode({}, out);
    CHECK(same_pixels(out, image));
  }
}

TEST_CASE("an animated WebP decodes to its first frame on black", "[codecs]") {
  const Image image = sample_image({21, 13}, 7);
  for (const WebpSample& sample : {kSamples[0], kSamples[5]}) {
    const Bytes still = make_webp(image, sample);
    const Image first = reference(still);
    const Rect first_rect{6, 4, 21, 13};
    const Bytes moving =
        animation({40, 30}, {frame(first_rect, chunks_of(still)), frame({0, 0, 21, 13}, chunks_of(still))});
    WebpDecoder decoder;
    CHECK(decoder.open(moving).size == Size{40, 30});
    Image expected({40, 30});
    std::fill_n(expected.data(), expected.bytes(), 0);
    for (int y = 0; y < 13; ++y) std::copy_n(first.row(y), first.row_bytes(), expected.row(4 + y) + 6 * kChannels);
    const Image out = decoded(decoder, moving);
    CHECK(same_pixels(out, expected));
    Image part;
    for (const Rect rect : {Rect{0, 0, 40, 30}, Rect{0, 0, 6, 4}, Rect{3, 2, 20, 9}, Rect{9, 7, 5, 5}}) {
      decoder.open(moving);
      decoder.decode(rect, part);
      CHECK(same_pixels(part, crop_of(expected, rect)));
    }
    CHECK_THAT(failure_of(decoder, animation({40, 30}, {})), Catch::Contains("without a frame"));
    CHECK_THAT(failure_of(decoder, animation({40, 30}, {frame({20, 0, 21, 13}, chunks_of(still))})),
               Catch::Contains("extends beyond the canvas"));
    CHECK_THAT(failure_of(decoder, animation({40, 30}, {frame({0, 0, 20, 13}, chunks_of(still))})),
               Catch::Contains("differs from its header"));
  }
}

TEST_CASE("WebP headers with invalid sizes are rejected", "[codecs]") {
  WebpDecoder decoder;
  const Image image = sample_image({4, 4}, 1);
  const Bytes still = make_webp(image, kSamples[5]);
  CHECK_THROWS_WITH(Decoder().open(animation({60'000, 60'000}, {frame({0, 0, 4, 4}, chunks_of(still))})),
                    "webp too large: 60000 x 60000 pixels; expected at most the decoder's pixel limit of 268435456; "
                    "scale it down or remove it");
  CHECK_THROWS_WITH(Decoder().open(still, 15), "webp too large: 4 x 4 pixels; decode.max_pixels is 15");
  CHECK_NOTHROW(Decoder().open(still, 16));
  CHECK_THAT(failure_of(decoder, animation({1 << 24, 1}, {frame({0, 0, 4, 4}, chunks_of(still))})),
             Catch::Contains("too large"));
  // A still image must fill its canvas.
  CHECK_THAT(failure_of(decoder, file_of(joined({canvas(0, {5, 4}), chunks_of(still)}))), Catch::Contains("damaged"));
  CHECK_THAT(failure_of(decoder, file_of(chunk("VP8X", {0, 0, 0, 0}))), Catch::Contains("damaged"));
}

namespace {

Image flat(Size size, std::uint8_t value) {
  Image image(size);
  std::fill_n(image.data(), image.bytes(), value);
  return image;
}

// The same lossy file with another size in its header (RFC 6386, 9.1).
Bytes claiming(Bytes webp, Size size) {
  constexpr std::size_t kWidthAt = 12 + 8 + 6;
  const Bytes sides =
      joined({little(static_cast<std::size_t>(size.width), 2), little(static_cast<std::size_t>(size.height), 2)});
  std::copy(sides.begin(), sides.end(), webp.begin() + kWidthAt);
  return webp;
}

}  // namespace

TEST_CASE("a lossy WebP that declares more pixels than its data can hold is rejected before allocation", "[codecs]") {
  WebpDecoder decoder;
  const Bytes small = make_webp(flat({64, 64}, 90), kSamples[0]);
  const Size claimed{16'000, 16'000};
  CHECK(decoder.open(claiming(small, claimed)).size == claimed);
  Image out;
  CHECK_THROWS_WITH(
      decoder.decode({0, 0, claimed.width, claimed.height}, out),
      Catch::StartsWith("WebP: truncated: 16000 rows of 16000 x 16000 pixels require at least 375000 bytes"));
  CHECK(out.bytes() == 0);
  // The same in a frame of an animation.
  const Bytes moving =
      animation(claimed, {frame({0, 0, claimed.width, claimed.height}, chunks_of(claiming(small, claimed)))});
  decoder.open(moving);
  CHECK_THROWS_WITH(decoder.decode({0, 0, claimed.width, claimed.height}, out),
                    Catch::Contains("require at least 375000"));
}

// A lossless image of one colour needs no bits at all, so that only the limit applies.
TEST_CASE("a lossless WebP with more pixels than allowed is rejected by its header with the limit in the message",
          "[codecs]") {
  Bytes webp = make_webp(flat({4, 4}, 90), {"lossless", true});
  constexpr std::size_t kSidesAt = 21;  // after RIFF, its size, WEBP, VP8L, its size, and VP8L's signature
  REQUIRE(webp[kSidesAt - 1] == 0x2F);
  // Width - 1 and height - 1, 14 bits each.
  const std::uint32_t sides = 16'382u | 16'382u << 14;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::uint32_t other_bits = i == 3 ? webp[kSidesAt + i] & 0xF0u : 0;
    webp[kSidesAt + i] = static_cast<std::uint8_t>((sides >> (8 * i) & 0xFFu) | other_bits);
  }
  Decoder decoder;
  CHECK(decoder.open(webp).size == Size{16'383, 16'383});
  CHECK_THROWS_WITH(decoder.open(webp, 100'000'000),
                    "webp too large: 16383 x 16383 pixels; decode.max_pixels is 100000000");
}

TEST_CASE("WebP files with the minimum data for their size decode, whole and in part", "[codecs]") {
  WebpDecoder decoder;
  Image out;
  for (const WebpSample& sample : kSamples) {
    for (const Size size : {Size{1, 1}, Size{16, 16}, Size{17, 1200}, Size{1200, 17}, Size{1024, 1024}}) {
      for (const int value : {0, 128, 255}) {
        INFO(sample.name << ", " << size.width << " x " << size.height << ", " << value);
        const Bytes bytes = make_webp(flat(size, static_cast<std::uint8_t>(value)), sample);
        for (const Rect part : {Rect{0, 0, size.width, size.height}, Rect{size.width - 1, size.height - 1, 1, 1}}) {
          decoder.open(bytes);
          CHECK_NOTHROW(decoder.decode(part, out));
        }
      }
    }
  }
}

}  // namespace unstarve
