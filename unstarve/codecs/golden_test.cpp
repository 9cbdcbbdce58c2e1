// Decoded pixels equal Pillow's, bit for bit. The checksums are those of Pillow 13.0.0 (with libjpeg-turbo 3.2.0 and
// libwebp 1.6.0) for the fuzz corpus's complete files and for 160 photographs, computed as
// zlib.crc32(ImageOps.exif_transpose(image).convert("RGB").tobytes()).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <zlib.h>

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/testing/jpeg_samples.h"
#include "unstarve/codecs/testing/test_photographs.h"
#include "unstarve/core/file.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

using testing::for_each_file;
using testing::photographs;

struct Golden {
  const char* name;
  Size size;
  std::uint32_t checksum;
};

constexpr Golden kGolden[] = {
    {"jpeg/420.jpg", {45, 37}, 0x518e77c7},
    {"jpeg/422.jpg", {45, 37}, 0x17fefee1},
    {"jpeg/444.jpg", {45, 37}, 0x9b44d5d6},
    {"jpeg/cmyk.jpg", {45, 37}, 0xe539bd5b},
    {"jpeg/cmyk_without_adobe.jpg", {45, 37}, 0xe539bd5b},
    {"jpeg/grey.jpg", {45, 37}, 0x8b0c4c2c},
    {"jpeg/orientation_2.jpg", {29, 21}, 0x906772b4},
    {"jpeg/orientation_3.jpg", {29, 21}, 0x37c40f20},
    {"jpeg/orientation_4.jpg", {29, 21}, 0x197bbbb5},
    {"jpeg/orientation_5.jpg", {21, 29}, 0x0585a6c1},
    {"jpeg/orientation_6.jpg", {21, 29}, 0xa1c7bfef},
    {"jpeg/orientation_7.jpg", {21, 29}, 0xe1eacd99},
    {"jpeg/orientation_8.jpg", {21, 29}, 0xb9e26a76},
    {"jpeg/progressive_420.jpg", {45, 37}, 0x518e77c7},
    {"jpeg/progressive_422.jpg", {45, 37}, 0x17fefee1},
    {"jpeg/progressive_444.jpg", {45, 37}, 0x9b44d5d6},
    {"jpeg/restarts.jpg", {45, 37}, 0x337c37dd},
    {"png/grey.png", {21, 17}, 0x1a3db092},
    {"png/grey_alpha.png", {21, 17}, 0x1a3db092},
    {"png/one_bit.png", {21, 17}, 0xd311263d},
    {"png/palette.png", {21, 17}, 0xebef54ae},
    {"png/palette_transparent.png", {21, 17}, 0x4d1ef767},
    {"png/rgb.png", {21, 17}, 0xb3f02499},
    {"png/rgba.png", {21, 17}, 0xb3f02499},
    {"webp/animated.webp", {31, 22}, 0x1f1824e9},
    {"webp/animated_offset.webp", {60, 50}, 0x5434cf61},
    {"webp/lossless.webp", {45, 37}, 0x0e17d51c},
    {"webp/lossless_alpha.webp", {45, 37}, 0x0e17d51c},
    {"webp/lossy.webp", {45, 37}, 0x4f675cfa},
    {"webp/lossy_alpha.webp", {45, 37}, 0x507fe275},
    {"webp/orientation_3.webp", {29, 21}, 0xfb587b8d},
    {"webp/orientation_6.webp", {21, 29}, 0x7b7dbf00},
    {"webp/palette.webp", {33, 20}, 0x192771a6},
};

// Over the pixels of all photographs, in the archive's order.
constexpr std::uint32_t kPhotographsChecksum = 0xd7bcf0a4;
constexpr int kPhotographs = 160;

std::uint32_t checksum_of(const Image& image, std::uint32_t before = 0) {
  return static_cast<std::uint32_t>(crc32_z(before, image.data(), image.bytes()));
}

}  // namespace

TEST_CASE("the corpus decodes to Pillow's pixels", "[codecs]") {
  Decoder decoder;
  Image out;
  for (const Golden& golden : kGolden) {
    INFO(golden.name);
    const MappedFile file(std::filesystem::path("fuzz/corpus") / golden.name);
    const ImageHeader header = decoder.open(file.bytes());
    CHECK(header.size == golden.size);
    decoder.decode({}, out);
    CHECK(checksum_of(out) == golden.checksum);
  }
}

TEST_CASE("photographs and crops of them decode to Pillow's pixels", "[codecs]") {
  const auto path = photographs();
  if (path.empty()) return;
  const MappedFile archive(path);
  Decoder decoder;
  Image whole, part;
  std::vector<std::uint8_t> index;
  int indexed = 0;
  std::size_t index_bytes = 0;
  std::uint32_t checksum = 0;
  std::uint32_t count = 0;
  int different = 0;
  for_each_file(archive.bytes(), [&](std::span<const std::uint8_t> bytes) {
    Random random(17, 0, count++, 0);
    const Size size = decoder.open(bytes).size;
    for (const int reduction : {1, 2, 4, 8}) {
      decoder.open(bytes);
      decoder.decode({{}, reduction}, whole);
      if (reduction == 1) checksum = checksum_of(whole, checksum);
      Rect rect;
      rect.width = 1 + static_cast<int>(random.below(static_cast<std::uint32_t>(size.width)));
      rect.height = 1 + static_cast<int>(random.below(static_cast<std::uint32_t>(size.height)));
      rect.x = static_cast<int>(random.below(static_cast<std::uint32_t>(size.width - rect.width + 1)));
      rect.y = static_cast<int>(random.below(static_cast<std::uint32_t>(size.height - rect.height + 1)));
      decoder.open(bytes);
      decoder.decode({rect, reduction, {}, reduction == 1}, part);
      if (!decoder.made_index().empty()) {
        index.assign(decoder.made_index().begin(), decoder.made_index().end());
        index_bytes += index.size();
        decoder.open(bytes);
        decoder.decode({rect, reduction, index}, part);
        indexed += decoder.index_use() == IndexUse::kUsed ? 1 : 0;
      }
      const Rect reduced{rect.x / reduction, rect.y / reduction, part.size().width, part.size().height};
      different += same_pixels(part, crop_of(whole, reduced)) ? 0 : 1;
    }
  });
  CHECK(count == kPhotographs);
  CHECK(checksum == kPhotographsChecksum);
  CHECK(indexed == kPhotographs);
  const double share = static_cast<double>(index_bytes) / static_cast<double>(archive.bytes().size());
  CHECK(share > 0.0025);
  CHECK(share < 0.02);
  CHECK(different == 0);
}

}  // namespace unstarve
