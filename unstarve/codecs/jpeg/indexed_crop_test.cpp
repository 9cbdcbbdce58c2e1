// Crops by an index: the MCUs they read, and damage in bytes that they do not read.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/codecs/jpeg/index/scan_index.h"
#include "unstarve/codecs/jpeg/jpeg_decoder.h"
#include "unstarve/codecs/testing/jpeg_samples.h"
#include "unstarve/core/error.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

using Bytes = std::vector<std::uint8_t>;

// The pixels, or nothing if the decoder rejects the file.
std::optional<Image> decoded_crop(JpegDecoder& decoder, const Bytes& file, Rect rect, const Bytes& index = {},
                                  bool make_index = false) {
  Image out;
  try {
    decoder.open(file);
    decoder.decode({1, rect, index, make_index}, out);
  } catch (const Error&) {
    return std::nullopt;
  }
  return out;
}

Bytes crop_index_of(JpegDecoder& decoder, const Bytes& file, Rect rect) {
  (void)decoded_crop(decoder, file, rect, {}, true);
  return {decoder.made_index().begin(), decoder.made_index().end()};
}

}  // namespace

TEST_CASE("a crop by an index reads only the blocks from the points before the crop to those after it", "[codecs]") {
  JpegDecoder decoder;
  const Size size{1024, 768};
  for (const int restarts : {0, 5, 40, 700}) {
    JpegSample sample;  // 4:2:0
    sample.restart_interval = restarts;
    const int columns = size.width / 16, rows = size.height / 16;
    const Bytes file = make_jpeg(sample_image(size, 3), sample);
    const Bytes index = crop_index_of(decoder, file, {0, 0, size.width, size.height});
    REQUIRE(decoder.mcus_read() == static_cast<std::uint64_t>(columns * rows));
    Random random(81, 0, 0, 0);
    for (int i = 0; i < 40; ++i) {
      const auto below = [&](int limit) { return static_cast<int>(random.below(static_cast<std::uint32_t>(limit))); };
      Rect crop{below(size.width - 16), below(size.height - 16), 0, 0};
      crop.width = 1 + below(std::min(200, size.width - crop.x));
      crop.height = 1 + below(std::min(200, size.height - crop.y - 16));
      INFO("restarts " << restarts << ", " << crop.width << " x " << crop.height << " at " << crop.x << ", " << crop.y);
      const auto expected = decoded_crop(decoder, file, crop);
      REQUIRE(expected);
      // Without an index: all MCUs above the crop and, except in the last row, next to it.
      const int above = std::max(crop.y - 2, 0) / 16;
      REQUIRE(decoder.mcus_read() >= static_cast<std::uint64_t>(above * columns));
      const auto by_index = decoded_crop(decoder, file, crop, index);
      REQUIRE(by_index);
      REQUIRE(decoder.index_use() == IndexUse::kUsed);
      REQUIRE(same_pixels(*by_index, *expected));
      // One more row and column for smooth chroma, one point before (two with restarts) and one after the crop.
      const int crop_rows = (crop.height + 2) / 16 + 2, crop_columns = (crop.width + 2) / 16 + 2;
      const int outside = (restarts > 0 ? 3 : 2) * ScanIndex::kStep;
      CHECK(decoder.mcus_read() <= static_cast<std::uint64_t>(crop_rows * (crop_columns + outside)));
    }
  }
}

TEST_CASE("a file modified after indexing decodes, or is rejected, as without its index", "[codecs]") {
  JpegDecoder decoder;
  const Size size{320, 320};
  const Bytes file = make_jpeg(sample_image(size, 8), {});
  const Rect crop{100, 240, 120, 60};
  const Bytes index = crop_index_of(decoder, file, crop);
  const auto expected = decoded_crop(decoder, file, crop);
  REQUIRE(expected);
  int rejected = 0, other = 0, same = 0;
  const auto check = [&](const Bytes& changed) {
    const auto without = decoded_crop(decoder, changed, crop);
    const auto by_index = decoded_crop(decoder, changed, crop, index);
    REQUIRE(decoder.index_use() != IndexUse::kUsed);
    REQUIRE(by_index.has_value() == without.has_value());
    if (without) REQUIRE(same_pixels(*by_index, *without));
    (!without ? rejected : same_pixels(*without, *expected) ? same : other) += 1;
  };
  const std::size_t start = scan_starts(file)[0] + 700;        // after the headers
  for (std::size_t at = start; at < file.size(); at += 101) {  // above the crop, in it and below it
    INFO("byte " << at);
    Bytes changed = file;
    changed[at] ^= 0x10;
    check(changed);
    std::fill(changed.begin() + static_cast<std::ptrdiff_t>(at),
              changed.begin() + static_cast<std::ptrdiff_t>(std::min(at + 60, file.size())),
              static_cast<std::uint8_t>(at % 2 == 0 ? 0x5A : 0xFF));
    check(changed);
  }
  CHECK(rejected > 50);
  CHECK(other > 100);
  CHECK(same > 10);  // below the crop
}

TEST_CASE("a file damaged within the crop reports nothing about its index", "[codecs]") {
  JpegDecoder decoder;
  const Size size{160, 160};
  const Bytes file = make_jpeg(sample_image(size, 5), {});
  const Rect all{0, 0, size.width, size.height};
  const Bytes index = crop_index_of(decoder, file, all);
  int rejected = 0, wrong = 0;
  for (std::uint32_t i = 0; i < 300; ++i) {
    Random random(82, 0, i, 0);
    Bytes damaged = file;
    const auto half = static_cast<std::uint32_t>(file.size() / 2);
    damaged[half + random.below(half)] = static_cast<std::uint8_t>(random.bits());
    INFO("damage " << i);
    const bool decodes = decoded_crop(decoder, damaged, all).has_value() && decoder.used_own_decoder();
    (void)decoded_crop(decoder, damaged, all, index);
    if (!decodes) CHECK(decoder.index_use() == IndexUse::kNone);
    rejected += decodes ? 0 : 1;
    wrong += decoder.index_use() == IndexUse::kWrong ? 1 : 0;
  }
  CHECK(rejected > 50);
  CHECK(wrong > 20);  // files with other bytes that our own decoder accepts
}

}  // namespace unstarve
