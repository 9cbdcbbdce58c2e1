#include "unstarve/codecs/png/png_decoder.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include <png.h>
#include <zlib.h>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/testing/jpeg_samples.h"
#include "unstarve/core/error.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

struct PngSample {
  int colour_type;
  int depth;
  bool interlaced;
  bool transparency;  // a tRNS chunk
};

constexpr PngSample kKinds[] = {
    {PNG_COLOR_TYPE_GRAY, 1, false, false},       {PNG_COLOR_TYPE_GRAY, 2, false, false},
    {PNG_COLOR_TYPE_GRAY, 4, false, false},       {PNG_COLOR_TYPE_GRAY, 8, false, true},
    {PNG_COLOR_TYPE_GRAY, 16, false, false},      {PNG_COLOR_TYPE_RGB, 8, false, false},
    {PNG_COLOR_TYPE_RGB, 8, false, true},         {PNG_COLOR_TYPE_RGB, 16, false, false},
    {PNG_COLOR_TYPE_PALETTE, 1, false, false},    {PNG_COLOR_TYPE_PALETTE, 2, false, true},
    {PNG_COLOR_TYPE_PALETTE, 4, false, false},    {PNG_COLOR_TYPE_PALETTE, 8, false, true},
    {PNG_COLOR_TYPE_GRAY_ALPHA, 8, false, false}, {PNG_COLOR_TYPE_GRAY_ALPHA, 16, false, false},
    {PNG_COLOR_TYPE_RGB_ALPHA, 8, false, false},  {PNG_COLOR_TYPE_RGB_ALPHA, 16, false, false},
};

int channels_of(int colour_type) {
  switch (colour_type) {
    case PNG_COLOR_TYPE_GRAY_ALPHA: return 2;
    case PNG_COLOR_TYPE_RGB: return 3;
    case PNG_COLOR_TYPE_RGB_ALPHA: return 4;
    default: return 1;
  }
}

void append(png_structp png, png_bytep data, std::size_t count) {
  auto& bytes = *static_cast<std::vector<std::uint8_t>*>(png_get_io_ptr(png));
  bytes.insert(bytes.end(), data, data + count);
}

// Random samples in a file of this kind; `meaning` is their RGB according to the PNG specification.
std::vector<std::uint8_t> make_png(const PngSample& kind, Size size, Image& meaning) {
  Random random(5, 0, static_cast<std::uint64_t>(kind.depth), static_cast<std::uint32_t>(kind.colour_type));
  const int channels = channels_of(kind.colour_type);
  const std::size_t row_bytes = (static_cast<std::size_t>(size.width * channels * kind.depth) + 7) / 8;
  std::vector<std::uint8_t> samples(row_bytes * static_cast<std::size_t>(size.height));
  for (std::uint8_t& byte : samples) byte = static_cast<std::uint8_t>(random.bits());
  png_color palette[256];
  for (png_color& colour : palette) {
    colour = {static_cast<png_byte>(random.bits()), static_cast<png_byte>(random.bits()),
              static_cast<png_byte>(random.bits())};
  }

  meaning.resize(size);
  for (int y = 0; y < size.height; ++y) {
    const std::uint8_t* row = samples.data() + static_cast<std::size_t>(y) * row_bytes;
    const auto sample = [&](int index) {
      if (kind.depth == 16) return static_cast<int>(row[2 * index]);
      const int bit = index * kind.depth;
      return row[bit / 8] >> (8 - kind.depth - bit % 8) & ((1 << kind.depth) - 1);
    };
    for (int x = 0; x < size.width; ++x) {
      std::uint8_t* pixel = meaning.row(y) + x * kChannels;
      const int first = sample(x * channels);
      if (kind.colour_type == PNG_COLOR_TYPE_PALETTE) {
        pixel[0] = palette[first].red;
        pixel[1] = palette[first].green;
        pixel[2] = palette[first].blue;
      } else if (channels <= 2) {
        const int full = kind.depth < 8 ? (1 << kind.depth) - 1 : 255;
        std::fill_n(pixel, kChannels, static_cast<std::uint8_t>(first * 255 / full));
      } else {
        for (int c = 0; c < kChannels; ++c) pixel[c] = static_cast<std::uint8_t>(sample(x * channels + c));
      }
    }
  }

  std::vector<std::uint8_t> bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &bytes, append, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(size.width), static_cast<png_uint_32>(size.height), kind.depth,
               kind.colour_type, kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  const int colours = 1 << std::min(kind.depth, 8);
  if (kind.colour_type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, colours);
  if (kind.transparency) {
    png_byte alpha[2] = {0, 100};
    png_color_16 transparent{0, 10, 20, 30, 40};
    png_set_tRNS(png, info, alpha, 2, &transparent);
  }
  png_write_info(png, info);
  std::vector<png_bytep> rows;
  for (int y = 0; y < size.height; ++y) rows.push_back(samples.data() + static_cast<std::size_t>(y) * row_bytes);
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

std::string failure_of(PngDecoder& decoder, const std::vector<std::uint8_t>& bytes) {
  try {
    Image out;
    const ImageHeader header = decoder.open(bytes);
    decoder.decode({0, 0, header.size.width, header.size.height}, out);
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::kInput);
    return error.what();
  }
  return "";
}

void set_32(std::vector<std::uint8_t>& bytes, std::size_t at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i)
    bytes[at + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
}

}  // namespace

TEST_CASE("PNG samples of every colour type, depth and interlacing become their RGB", "[codecs]") {
  PngDecoder decoder;
  for (PngSample kind : kKinds) {
    for (const bool interlaced : {false, true}) {
      kind.interlaced = interlaced;
      for (const Size size : {Size{1, 1}, Size{5, 3}, Size{33, 29}}) {
        INFO("colour type " << kind.colour_type << ", depth " << kind.depth << ", interlaced " << interlaced);
        Image meaning, out;
        const auto bytes = make_png(kind, size, meaning);
        const ImageHeader header = decoder.open(bytes);
        CHECK(header.encoding == Encoding::kPng);
        CHECK(header.size == size);
        CHECK(header.components == (kind.colour_type == PNG_COLOR_TYPE_PALETTE ? 3 : channels_of(kind.colour_type)));
        decoder.decode({0, 0, size.width, size.height}, out);
        CHECK(same_pixels(out, meaning));
      }
    }
  }
}

TEST_CASE("a PNG crop is the crop of the whole image", "[codecs]") {
  PngDecoder decoder;
  const Size size{33, 29};
  for (const bool interlaced : {false, true}) {
    Image meaning, out;
    const auto bytes = make_png({PNG_COLOR_TYPE_RGB, 8, interlaced, false}, size, meaning);
    for (const Rect rect : {Rect{0, 0, 33, 1}, Rect{32, 28, 1, 1}, Rect{3, 4, 20, 10}, Rect{0, 5, 33, 24}}) {
      decoder.open(bytes);
      decoder.decode(rect, out);
      CHECK(same_pixels(out, crop_of(meaning, rect)));
    }
  }
}

TEST_CASE("a PNG truncated at any length is rejected, unless only its end marker is missing", "[codecs]") {
  constexpr std::size_t kEndBytes = 12;  // the chunk IEND
  PngDecoder decoder;
  for (const bool interlaced : {false, true}) {
    Image meaning;
    const auto bytes = make_png({PNG_COLOR_TYPE_RGB, 8, interlaced, false}, {20, 20}, meaning);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::vector<std::uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      INFO(size << " of " << bytes.size() << " bytes");
      if (size < bytes.size() - kEndBytes) {
        CHECK(failure_of(decoder, cut).find("truncated") != std::string::npos);
        continue;
      }
      Image out;
      const ImageHeader header = decoder.open(cut);
      decoder.decode({0, 0, header.size.width, header.size.height}, out);
      CHECK(same_pixels(out, meaning));
    }
    CHECK(failure_of(decoder, bytes).empty());
  }
}

TEST_CASE("a PNG with any byte changed is rejected or decodes, and its checksums are verified", "[codecs]") {
  PngDecoder decoder;
  Image meaning;
  const auto bytes = make_png({PNG_COLOR_TYPE_PALETTE, 4, false, true}, {20, 20}, meaning);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    auto damaged = bytes;
    damaged[at] ^= 0x10;
    const std::string message = failure_of(decoder, damaged);
    const bool in_pixels = at > bytes.size() - 40 && at < bytes.size() - 12;
    if (in_pixels) CHECK_FALSE(message.empty());
  }
  CHECK(failure_of(decoder, bytes).empty());
}

TEST_CASE("PNG headers with invalid bit depths are rejected", "[codecs]") {
  PngDecoder decoder;
  auto bytes = encode_png(sample_image({4, 4}, 1).view());
  for (const int depth : {0, 3, 12, 32, 255}) {
    bytes[24] = static_cast<std::uint8_t>(depth);
    CHECK_THROWS_WITH(decoder.open(bytes), "PNG: bit depth " + std::to_string(depth) + "; expected 1, 2, 4, 8 or 16");
  }
}

TEST_CASE("PNG headers with invalid sizes are rejected", "[codecs]") {
  Decoder decoder;
  const Image image = sample_image({4, 4}, 1);
  auto bytes = encode_png(image.view());
  set_32(bytes, 16, 60'000);
  set_32(bytes, 20, 60'000);
  CHECK_THROWS_WITH(decoder.open(bytes),
                    "png too large: 60000 x 60000 pixels; expected at most the decoder's pixel limit of 268435456; "
                    "scale it down or remove it");
  set_32(bytes, 16, 20'000);
  set_32(bytes, 20, 10'000);
  CHECK_THROWS_WITH(decoder.open(bytes, 199'999'999), Catch::Contains("decode.max_pixels is 199999999"));
  set_32(bytes, 16, 0xFFFFFFFF);
  CHECK_THROWS_WITH(decoder.open(bytes), Catch::Contains("too large"));
  set_32(bytes, 16, 0);
  CHECK_THROWS_WITH(decoder.open(bytes), Catch::Contains("empty"));
  set_32(bytes, 16, 4);
  set_32(bytes, 20, 4);
  bytes[25] = 5;
  CHECK_THROWS_WITH(decoder.open(bytes), Catch::Contains("colour type 5"));
}

TEST_CASE("a PNG header that declares more pixels than its data can hold is rejected before allocation", "[codecs]") {
  Decoder decoder;
  Image black({9000, 1000}), out;
  std::fill_n(black.data(), black.bytes(), std::uint8_t{0});
  const auto bytes = encode_png(black.view());
  REQUIRE(bytes.size() < black.bytes() / 500);
  decoder.open(bytes);
  CHECK_NOTHROW(decoder.decode({}, out));  // nearly the smallest possible file

  auto forged = bytes;
  set_32(forged, 20, 29'000);
  const std::uint32_t checksum = static_cast<std::uint32_t>(crc32(0, &forged[12], 17));
  set_32(forged, 29, checksum);
  out = {};
  decoder.open(forged);
  CHECK_THROWS_WITH(decoder.decode({}, out),
                    Catch::Contains("PNG: truncated: 29000 rows of 9000 x 29000 pixels require at least"));
  CHECK(out.bytes() == 0);
  decoder.open(forged);
  CHECK_NOTHROW(decoder.decode({{0, 0, 50, 500}, 1}, out));
}

}  // namespace unstarve
