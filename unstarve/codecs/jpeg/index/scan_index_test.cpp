// Decoding by an index gives the same pixels as without; wrong indexes are rejected; an index is small.
#include "unstarve/codecs/jpeg/index/scan_index.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/jpeg/index/checksum.h"
#include "unstarve/codecs/testing/jpeg_samples.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/random.h"
#include "unstarve/core/testing/simd_test_support.h"

namespace unstarve {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::vector<JpegSample> indexed_samples() {
  std::vector<JpegSample> samples;
  for (const int quality : {40, 95}) {
    const std::string rest = ", quality " + std::to_string(quality);
    samples.push_back({"4:4:4" + rest, 1, 1, SampleColour::kYcc, false, false, 0, quality});
    samples.push_back({"4:2:2" + rest, 2, 1, SampleColour::kYcc, false, false, 0, quality});
    samples.push_back({"4:4:0" + rest, 1, 2, SampleColour::kYcc, false, false, 0, quality});
    samples.push_back({"4:2:0" + rest, 2, 2, SampleColour::kYcc, false, false, 0, quality});
    samples.push_back({"grey" + rest, 1, 1, SampleColour::kGrey, false, false, 0, quality});
  }
  // Tables that few encoders use.
  for (const bool wide : {false, true}) {
    JpegSample sample{wide ? "16-bit quantisers" : "tables 2 and 3"};
    sample.quality = 95;
    sample.wide_quantisers = wide;
    sample.first_table = wide ? 0 : 2;
    samples.push_back(sample);
  }
  // Restart markers more often than points, at all points, between points, and less often than once per row.
  for (const int interval : {1, 3, 8, 13, 16, 30}) {
    const std::string rest = ", restarts every " + std::to_string(interval);
    samples.push_back({"4:4:4" + rest, 1, 1, SampleColour::kYcc, false, false, interval, 95});
    samples.push_back({"4:2:0" + rest, 2, 2, SampleColour::kYcc, false, false, interval, 95});
    samples.push_back({"grey" + rest, 1, 1, SampleColour::kGrey, false, false, interval, 95});
  }
  return samples;
}

Image decoded(Decoder& decoder, const Bytes& file, const DecodeRequest& request = {}) {
  Image out;
  decoder.open(file);
  decoder.decode(request, out);
  return out;
}

Bytes index_of(Decoder& decoder, const Bytes& file, Rect crop = {}) {
  decoded(decoder, file, {crop, 1, {}, true});
  return {decoder.made_index().begin(), decoder.made_index().end()};
}

Rect random_rect(Random& random, Size size) {
  const auto below = [&random](int limit) { return static_cast<int>(random.below(static_cast<std::uint32_t>(limit))); };
  const int x = below(size.width), y = below(size.height);
  return {x, y, 1 + below(size.width - x), 1 + below(size.height - y)};
}

// The points of an index as plain numbers, each with its bit and DCs, for tests that modify them.
struct Points {
  Bytes header;
  std::vector<std::vector<std::int64_t>> values;
};

Points points_of(const Bytes& index, std::size_t components) {
  constexpr std::size_t kHeaderBytes = 18;
  Points points{{index.begin(), index.begin() + kHeaderBytes}, {}};
  std::vector<std::int64_t> at(1 + components, 0);
  std::size_t i = kHeaderBytes;
  while (i < index.size()) {
    for (std::size_t k = 0; k <= components; ++k) {
      std::uint64_t value = 0;
      for (int shift = 0;; shift += 7) {
        value |= std::uint64_t{index[i] & 127u} << shift;
        if (index[i++] < 128) break;
      }
      const auto half = static_cast<std::int64_t>(value >> 1);
      at[k] += k == 0 ? static_cast<std::int64_t>(value) : value % 2 == 0 ? half : -half - 1;
    }
    points.values.push_back(at);
  }
  return points;
}

// Serialises them with a correct checksum.
Bytes bytes_of(const Points& points) {
  Bytes bytes = points.header;
  std::vector<std::int64_t> before(points.values[0].size(), 0);
  for (const auto& point : points.values) {
    for (std::size_t k = 0; k < point.size(); ++k) {
      const std::int64_t delta = point[k] - before[k];
      auto value = static_cast<std::uint64_t>(k == 0       ? std::max<std::int64_t>(delta, 0)
                                              : delta >= 0 ? 2 * delta
                                                           : -2 * delta - 1);
      for (; value >= 128; value >>= 7) bytes.push_back(static_cast<std::uint8_t>(value | 128));
      bytes.push_back(static_cast<std::uint8_t>(value));
    }
    before = point;
  }
  const std::uint64_t sum = checksum_of(std::span(bytes).subspan(points.header.size()));
  for (std::size_t i = 0; i < 8; ++i) bytes[10 + i] = static_cast<std::uint8_t>(sum >> (8 * i));
  return bytes;
}

}  // namespace

TEST_CASE("a crop by an index has the pixels of the whole image", "[codecs]") {
  Decoder decoder;
  Random random(71, 0, 0, 0);
  for (const JpegSample& sample : indexed_samples()) {
    for (const Size size : {Size{200, 120}, Size{333, 61}, Size{64, 64}, Size{9, 200}, Size{12, 5}}) {
      INFO(sample.name << ", " << size.width << " x " << size.height);
      const Bytes file = make_jpeg(sample_image(size, random.bits()), sample);
      const Image whole = decoded(decoder, file);
      const Bytes index = index_of(decoder, file);
      REQUIRE_FALSE(index.empty());
      for (int i = 0; i < 20; ++i) {
        const Rect crop = i == 0 ? Rect{0, 0, size.width, size.height} : random_rect(random, size);
        INFO(crop.width << " x " << crop.height << " at " << crop.x << ", " << crop.y);
        // The index does not depend on the crop decoded while building it.
        if (i < 4) REQUIRE(index_of(decoder, file, crop) == index);
        const Image part = decoded(decoder, file, {crop, 1, index, false});
        REQUIRE(decoder.index_use() == IndexUse::kUsed);
        REQUIRE(same_pixels(part, crop_of(whole, crop)));
      }
    }
  }
}

TEST_CASE("an index decodes the same on every instruction set", "[codecs]") {
  Decoder decoder;
  for (const JpegSample& sample : indexed_samples()) {
    if (sample.quality != 95) continue;
    const Bytes file = make_jpeg(sample_image({170, 90}, 9), sample);
    const Rect crop{37, 21, 90, 55};
    const Image expected = crop_of(decoded(decoder, file), crop);
    const Bytes index = index_of(decoder, file);
    testing::on_every_target([&](const std::string& target) {
      INFO(sample.name << ", " << target);
      CHECK(index_of(decoder, file, crop) == index);
      CHECK(same_pixels(decoded(decoder, file, {crop, 1, index, false}), expected));
      CHECK(decoder.index_use() == IndexUse::kUsed);
    });
  }
}

TEST_CASE("upright images use the index of the stored one", "[codecs]") {
  Decoder decoder;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Bytes file = with_orientation(make_jpeg(sample_image({150, 90}, 3), {}), orientation, true);
    const Image whole = decoded(decoder, file);
    const Bytes index = index_of(decoder, file);
    const Rect crop{11, 17, 60, 50};
    CHECK(same_pixels(decoded(decoder, file, {crop, 1, index, false}), crop_of(whole, crop)));
    CHECK(decoder.index_use() == IndexUse::kUsed);
  }
}

TEST_CASE("no index is built for files that are not baseline", "[codecs]") {
  Decoder decoder;
  JpegSample progressive;
  progressive.progressive = true;
  CHECK(index_of(decoder, make_jpeg(sample_image({80, 60}, 1), progressive)).empty());
  JpegSample apart;
  apart.interleaved = false;
  CHECK(index_of(decoder, make_jpeg(sample_image({80, 60}, 1), apart)).empty());
  const Bytes file = make_jpeg(sample_image({80, 60}, 1), {});
  const Bytes index = index_of(decoder, file);
  // Passing an index for a file that cannot have one has no effect.
  const Bytes other = make_jpeg(sample_image({80, 60}, 1), progressive);
  CHECK(same_pixels(decoded(decoder, other, {{3, 3, 40, 40}, 1, index, false}),
                    crop_of(decoded(decoder, other), {3, 3, 40, 40})));
  CHECK(decoder.index_use() == IndexUse::kNone);
}

TEST_CASE("a reduced crop by an index has the pixels of the whole reduced image", "[codecs]") {
  Decoder decoder;
  Random random(75, 0, 0, 0);
  for (const JpegSample& sample : indexed_samples()) {
    const Size size{333, 121};
    const Bytes file = make_jpeg(sample_image(size, random.bits()), sample);
    const Bytes index = index_of(decoder, file);
    for (const int reduction : {2, 4, 8}) {
      const Image whole = decoded(decoder, file, {{}, reduction});
      for (int i = 0; i < 8; ++i) {
        const Rect crop = random_rect(random, size);
        INFO(sample.name << ", 1/" << reduction << ", " << crop.width << " x " << crop.height << " at " << crop.x
                         << ", " << crop.y);
        const auto end = [reduction](int at) { return (at + reduction - 1) / reduction; };
        const Rect reduced{crop.x / reduction, crop.y / reduction, end(crop.x + crop.width) - crop.x / reduction,
                           end(crop.y + crop.height) - crop.y / reduction};
        REQUIRE(same_pixels(decoded(decoder, file, {crop, reduction, index}), crop_of(whole, reduced)));
        REQUIRE(decoder.index_use() == IndexUse::kUsed);
        // An index built while decoding at reduced size equals that of full size.
        decoded(decoder, file, {crop, reduction, {}, true});
        REQUIRE(std::ranges::equal(decoder.made_index(), index));
      }
    }
  }
}

TEST_CASE("an index of another file is not used", "[codecs]") {
  Decoder decoder;
  const Bytes a = make_jpeg(sample_image({160, 120}, 1), {});
  const Bytes b = make_jpeg(sample_image({160, 120}, 2), {});
  const Bytes index = index_of(decoder, a);
  const Rect crop{50, 40, 70, 60};
  const Image part = decoded(decoder, b, {crop, 1, index, true});
  CHECK(decoder.index_use() == IndexUse::kWrong);
  CHECK(same_pixels(part, crop_of(decoded(decoder, b), crop)));
  // The correct index is built in the same call.
  decoded(decoder, b, {crop, 1, index, true});
  const Bytes right(decoder.made_index().begin(), decoder.made_index().end());
  CHECK(right == index_of(decoder, b));
}

TEST_CASE("an index of another version is reported, and the correct one is built", "[codecs]") {
  Decoder decoder;
  const Bytes file = make_jpeg(sample_image({160, 120}, 1), {});
  const Bytes index = index_of(decoder, file);
  const Rect crop{50, 40, 70, 60};
  const Image expected = crop_of(decoded(decoder, file), crop);
  for (const int version : {1, index[0] + 1, 255}) {
    Bytes other = index;
    other[0] = static_cast<std::uint8_t>(version);
    CHECK(same_pixels(decoded(decoder, file, {crop, 1, other, true}), expected));
    CHECK(decoder.index_use() == IndexUse::kOtherVersion);
    CHECK(std::ranges::equal(decoder.made_index(), index));
  }
  // Lost pages of a map contain zeros.
  CHECK(same_pixels(decoded(decoder, file, {crop, 1, Bytes(index.size()), true}), expected));
  CHECK(decoder.index_use() == IndexUse::kWrong);
}

TEST_CASE("a damaged index is not used", "[codecs]") {
  Decoder decoder;
  const Size size{190, 110};
  const Bytes file = make_jpeg(sample_image(size, 12), {});
  const Image whole = decoded(decoder, file);
  const Bytes index = index_of(decoder, file);
  Random random(72, 0, 0, 0);
  const auto check = [&](std::span<const std::uint8_t> damaged) {
    const Rect crop = random_rect(random, size);
    REQUIRE(same_pixels(decoded(decoder, file, {crop, 1, damaged, false}), crop_of(whole, crop)));
    // A damaged version byte is reported as another version.
    const bool version = damaged[0] != 0 && damaged[0] != index[0];
    REQUIRE(decoder.index_use() == (version ? IndexUse::kOtherVersion : IndexUse::kWrong));
  };
  for (std::size_t i = 0; i < index.size() * 8; ++i) {
    Bytes damaged = index;
    damaged[i / 8] ^= static_cast<std::uint8_t>(1u << i % 8);
    check(damaged);
  }
  for (std::size_t bytes = 1; bytes < index.size(); ++bytes) check(std::span(index).first(bytes));
  Bytes longer = index;
  longer.push_back(0);
  check(longer);
}

TEST_CASE("an index with one wrong point changes no pixel", "[codecs]") {
  Decoder decoder;
  int wrong = 0, used = 0;
  for (const JpegSample& sample : indexed_samples()) {
    if (sample.quality != 95) continue;
    const Size size{190, 110};
    const Bytes file = make_jpeg(sample_image(size, 12), sample);
    const Image whole = decoded(decoder, file);
    const Points points = points_of(index_of(decoder, file), sample.colour == SampleColour::kGrey ? 1 : 3);
    Random random(73, 0, 0, 0);
    for (int i = 0; i < 1000; ++i) {
      INFO(sample.name << ", forged point " << i);
      Points forged = points;
      const std::size_t number = random.below(static_cast<std::uint32_t>(points.values.size()));
      std::int64_t& value = forged.values[number][random.below(static_cast<std::uint32_t>(points.values[0].size()))];
      value += static_cast<std::int64_t>(random.below(400)) - 200;
      const Rect crop = random_rect(random, size);
      const Image part = decoded(decoder, file, {crop, 1, bytes_of(forged), false});
      REQUIRE(same_pixels(part, crop_of(whole, crop)));
      (decoder.index_use() == IndexUse::kWrong ? wrong : used) += 1;
    }
  }
  CHECK(wrong > 1000);
  CHECK(used > 500);  // wrong points that the crop does not read
}

TEST_CASE("a wrong DC before a restart marker is detected", "[codecs]") {
  // After a restart, DC is correct regardless of its previous value, so the next point does not reveal a wrong one.
  Decoder decoder;
  for (const JpegSample& sample : indexed_samples()) {
    if (sample.restart_interval == 0) continue;
    const Size size{190, 110};
    const Bytes file = make_jpeg(sample_image(size, 12), sample);
    const Image whole = decoded(decoder, file);
    const Points points = points_of(index_of(decoder, file), sample.colour == SampleColour::kGrey ? 1 : 3);
    const int mcu_width = 8 * sample.horizontal, mcu_height = 8 * sample.vertical;
    const int per_row = ((size.width + mcu_width - 1) / mcu_width + ScanIndex::kStep - 1) / ScanIndex::kStep;
    int wrong = 0;
    for (std::size_t number = 0; number + 1 < points.values.size(); ++number) {
      INFO(sample.name << ", point " << number + 1);
      Points forged = points;
      forged.values[number].back() += 40;
      // The number of this point's MCU.
      const int mcu_number = static_cast<int>(number) + 1;
      const Rect crop{mcu_number % per_row * ScanIndex::kStep * mcu_width, mcu_number / per_row * mcu_height, 1, 1};
      REQUIRE(same_pixels(decoded(decoder, file, {crop, 1, bytes_of(forged), false}), crop_of(whole, crop)));
      wrong += decoder.index_use() == IndexUse::kWrong ? 1 : 0;
    }
    CHECK(wrong + 1 == static_cast<int>(points.values.size()));
  }
}

TEST_CASE("a point after a restart marker is rejected unless the marker exists", "[codecs]") {
  Decoder decoder;
  JpegSample sample;
  sample.restart_interval = ScanIndex::kStep;  // every point's MCU follows a marker
  const Size size{256, 110};                   // two points per row
  const Bytes file = make_jpeg(sample_image(size, 12), sample);
  const Image whole = decoded(decoder, file);
  const Points points = points_of(index_of(decoder, file), 3);
  for (std::size_t number = 0; number + 1 < points.values.size(); ++number) {
    CHECK(points.values[number][0] % 8 == 0);
    for (const int bits : {-64, -16, -8, -1, 1, 8, 16, 64}) {
      Points forged = points;
      forged.values[number][0] += bits;
      const int y = static_cast<int>(number + 1) / 2 * 16;
      const Rect crop{0, y, size.width, std::min(16, size.height - y)};
      REQUIRE(same_pixels(decoded(decoder, file, {crop, 1, bytes_of(forged), false}), crop_of(whole, crop)));
      REQUIRE(decoder.index_use() == IndexUse::kWrong);
    }
  }
}

TEST_CASE("forged points that agree with each other do no harm", "[codecs]") {
  Decoder decoder;
  for (const JpegSample& sample : indexed_samples()) {
    const Size size{190, 110};
    const Bytes file = make_jpeg(sample_image(size, 12), sample);
    const Points points = points_of(index_of(decoder, file), sample.colour == SampleColour::kGrey ? 1 : 3);
    Random random(74, 0, 0, 0);
    for (int i = 0; i < 60; ++i) {
      Points forged = points;
      const std::uint32_t range = 1u << (1 + random.below(24));
      for (auto& point : forged.values)
        for (std::int64_t& value : point)
          if (random.below(4) == 0) value += static_cast<std::int64_t>(random.below(range)) - range / 2;
      const Rect crop = random_rect(random, size);
      CHECK(decoded(decoder, file, {crop, 1, bytes_of(forged), false}).size() == crop.size());
    }
    Image whole = decoded(decoder, file);  // the decoder stays usable
    CHECK(same_pixels(decoded(decoder, file), whole));
  }
}

TEST_CASE("with damage below the crop, the crop decodes and no index is built", "[codecs]") {
  Decoder decoder;
  const Bytes file = make_jpeg(sample_image({160, 160}, 5), {});
  const Rect crop{0, 0, 160, 40};
  const Image expected = crop_of(decoded(decoder, file), crop);
  Bytes cut = file;
  cut.resize(cut.size() * 9 / 10);
  CHECK(same_pixels(decoded(decoder, cut, {crop, 1, {}, true}), expected));
  CHECK(decoder.made_index().empty());
  CHECK_THROWS_AS(decoded(decoder, cut, {{}, 1, {}, true}), Error);
  CHECK(decoder.made_index().empty());
}

TEST_CASE("the indexes in the fuzz corpus have the current version", "[codecs]") {
  // An index of another version is rejected by its first byte, so that fuzzing would not reach the rest.
  Decoder decoder;
  const Bytes written = index_of(decoder, make_jpeg(sample_image({64, 64}, 6), {}));
  int seeds = 0;
  for (const auto& seed : std::filesystem::directory_iterator("fuzz/corpus/jpeg_index")) {
    const std::string bytes = read_text_file(seed.path());
    INFO(seed.path().string() << ": fuzz/codecs/jpeg_index_fuzz.cpp documents how they are created");
    REQUIRE_FALSE(bytes.empty());
    CHECK(static_cast<std::uint8_t>(bytes[0]) == written[0]);
    ++seeds;
  }
  CHECK(seeds >= 8);
}

TEST_CASE("an index takes a few bytes per point", "[codecs]") {
  Decoder decoder;
  const Bytes file = make_jpeg(sample_image({512, 384}, 6), {});
  const std::size_t points = (384 / 16) * ((512 / 16 + 7) / 8);
  CHECK(index_of(decoder, file).size() < points * 8 + 18);
}

}  // namespace unstarve
