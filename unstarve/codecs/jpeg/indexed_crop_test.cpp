// What a crop by an index reads and what it does not: its cost, and damage in places that it does not come by.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/codecs/jpeg/jpeg_decoder.h"
#include "unstarve/codecs/jpeg/jpeg_samples.h"
#include "unstarve/codecs/jpeg/scan_index.h"
#include "unstarve/core/error.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

using Bytes = std::vector<std::uint8_t>;

// The pixels, or nothing when the decoder refuses.
std::optional<Image> decoded(JpegDecoder& decoder, const Bytes& file, Rect rect, const Bytes& index = {},
                             bool make_index = false) {
  Image out;
  try {
    decoder.open(file);
    decoder.decode(1, rect, out, index, make_index);
  } catch (const Error&) {
    return std::nullopt;
  }
  return out;
}

Bytes index_of(JpegDecoder& decoder, const Bytes& file, Rect rect) {
  (void)decoded(decoder, file, rect, {}, true);
  return {decoder.made_index().begin(), decoder.made_index().end()};
}

}  // namespace

TEST_CASE("a crop by an index reads the crop's blocks and no more than to the points beside them", "[codecs]") {
  JpegDecoder decoder;
  const Size size{1024, 768};
  for (const int restarts : {0, 5, 40, 700}) {
    JpegSample sample;  // 4:2:0
    sample.restart_interval = restarts;
    const int columns = size.width / 16, rows = size.height / 16;
    const Bytes file = make_jpeg(sample_image(size, 3), sample);
    const Bytes index = index_of(decoder, file, {0, 0, size.width, size.height});
    REQUIRE(decoder.mcus_read() == static_cast<std::uint64_t>(columns * rows));
    Random random(81, 0, 0, 0);
    for (int i = 0; i < 40; ++i) {
      const auto below = [&](int limit) { return static_cast<int>(random.below(static_cast<std::uint32_t>(limit))); };
      Rect crop{below(size.width - 16), below(size.height - 16), 0, 0};
      crop.width = 1 + below(std::min(200, size.width - crop.x));
      crop.height = 1 + below(std::min(200, size.height - crop.y - 16));
      INFO("restarts " << restarts << ", " << crop.width << " x " << crop.height << " at " << crop.x << ", " << crop.y);
      const auto expected = decoded(decoder, file, crop);
      REQUIRE(expected);
      // Without an index: all above, and all beside but for the last row.
      const int above = std::max(crop.y - 2, 0) / 16;
      REQUIRE(decoder.mcus_read() >= static_cast<std::uint64_t>(above * columns));
      const auto by_index = decoded(decoder, file, crop, index);
      REQUIRE(by_index);
      REQUIRE(decoder.index_use() == IndexUse::kUsed);
      REQUIRE(same_pixels(*by_index, *expected));
      // A neighbour's row and column for smooth chroma; up to two points before it where there are restarts, and one
      // behind.
      const int crop_rows = (crop.height + 2) / 16 + 2, crop_columns = (crop.width + 2) / 16 + 2;
      const int beside = (restarts > 0 ? 3 : 2) * ScanIndex::kStep;
      CHECK(decoder.mcus_read() <= static_cast<std::uint64_t>(crop_rows * (crop_columns + beside)));
    }
  }
}

TEST_CASE("damage above a crop is not looked at by an index, and the crop has its pixels", "[codecs]") {
  JpegDecoder decoder;
  const Size size{320, 320};
  const Bytes file = make_jpeg(sample_image(size, 8), {});
  const Rect crop{100, 240, 120, 60};
  const auto expected = decoded(decoder, file, crop);
  REQUIRE(expected);
  const Bytes index = index_of(decoder, file, crop);
  int used = 0, refused_without = 0;
  const std::size_t start = scan_starts(file)[0] + 700;  // behind the headers
  for (std::size_t at = start; at < start + 400; ++at) {
    Bytes damaged = file;
    damaged[at] ^= 0x10;
    INFO("byte " << at);
    const auto by_index = decoded(decoder, damaged, crop, index);
    // But for the bytes that tell one file from another (identity_of()).
    if (decoder.index_use() != IndexUse::kUsed) continue;
    ++used;
    REQUIRE(by_index);
    CHECK(same_pixels(*by_index, *expected));
    const auto without = decoded(decoder, damaged, crop);
    refused_without += without.has_value() && same_pixels(*without, *expected) ? 0 : 1;
  }
  CHECK(used > 300);
  CHECK(refused_without > 100);  // it was damage
}

TEST_CASE("a file that is damaged within the crop says nothing about its index", "[codecs]") {
  JpegDecoder decoder;
  const Size size{160, 160};
  const Bytes file = make_jpeg(sample_image(size, 5), {});
  const Rect all{0, 0, size.width, size.height};
  const Bytes index = index_of(decoder, file, all);
  int refused = 0, wrong = 0;
  for (std::uint32_t i = 0; i < 300; ++i) {
    Random random(82, 0, i, 0);
    Bytes damaged = file;
    const auto half = static_cast<std::uint32_t>(file.size() / 2);
    damaged[half + random.below(half)] = static_cast<std::uint8_t>(random.bits());
    INFO("damage " << i);
    const bool decodes = decoded(decoder, damaged, all).has_value() && decoder.used_own_decoder();
    (void)decoded(decoder, damaged, all, index);
    if (!decodes) CHECK(decoder.index_use() == IndexUse::kNone);
    refused += decodes ? 0 : 1;
    wrong += decoder.index_use() == IndexUse::kWrong ? 1 : 0;
  }
  CHECK(refused > 50);
  CHECK(wrong > 20);  // of a file with other bytes that our own decoder takes
}

}  // namespace unstarve
