// Compares our own decoder with libjpeg-turbo: same pixels for whole images and crops, same decisions about damage.
#include "unstarve/codecs/jpeg/baseline_decoder.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "unstarve/codecs/jpeg/jpeg_decoder.h"
#include "unstarve/codecs/testing/jpeg_samples.h"
#include "unstarve/core/error.h"
#include "unstarve/core/random.h"
#include "unstarve/core/testing/simd_test_support.h"

namespace unstarve {
namespace {

// Supported layouts, with and without restarts, at qualities that produce blocks of every length. Also with tables that
// few encoders write, and at a quality with quantisers in the thousands.
std::vector<JpegSample> our_samples() {
  std::vector<JpegSample> samples;
  for (const int restarts : {0, 1, 7}) {
    for (const int quality : {5, 60, 98, 100}) {
      const std::string rest = ", restarts " + std::to_string(restarts) + ", quality " + std::to_string(quality);
      samples.push_back({"4:4:4" + rest, 1, 1, SampleColour::kYcc, false, false, restarts, quality});
      samples.push_back({"4:2:2" + rest, 2, 1, SampleColour::kYcc, false, false, restarts, quality});
      samples.push_back({"4:4:0" + rest, 1, 2, SampleColour::kYcc, false, false, restarts, quality});
      samples.push_back({"4:2:0" + rest, 2, 2, SampleColour::kYcc, false, false, restarts, quality});
      samples.push_back({"grey" + rest, 1, 1, SampleColour::kGrey, false, false, restarts, quality});
      samples.push_back({"grey 2x2" + rest, 2, 2, SampleColour::kGrey, false, false, restarts, quality});
    }
  }
  for (JpegSample sample :
       {JpegSample{"4:4:4", 1, 1}, JpegSample{"4:2:0", 2, 2}, JpegSample{"grey", 1, 1, SampleColour::kGrey}}) {
    const std::string name = sample.name;
    sample.name = name + ", tables 2 and 3";
    sample.quality = 60;
    sample.first_table = 2;
    samples.push_back(sample);
    sample.first_table = 0;
    sample.wide_quantisers = true;
    for (const int quality : {1, 60}) {
      sample.name = name + ", 16-bit quantisers, quality " + std::to_string(quality);
      sample.quality = quality;
      samples.push_back(sample);
    }
  }
  return samples;
}

// The pixels, or nothing if the decoder rejects the file.
std::optional<Image> decoded(JpegDecoder& decoder, const std::vector<std::uint8_t>& bytes, bool own, Rect rect,
                             int reduction = 1) {
  Image out;
  decoder.use_own_decoder(own);
  try {
    decoder.open(bytes);
    decoder.decode({reduction, rect}, out);
  } catch (const Error&) {
    return std::nullopt;
  }
  return out;
}

Rect random_rect(Random& random, Size size) {
  const auto below = [&random](int limit) { return static_cast<int>(random.below(static_cast<std::uint32_t>(limit))); };
  const int x = below(size.width), y = below(size.height);
  return {x, y, 1 + below(size.width - x), 1 + below(size.height - y)};
}

}  // namespace

TEST_CASE("baseline files decode to libjpeg-turbo's pixels, whole and in part", "[codecs]") {
  JpegDecoder decoder;
  Random random(51, 0, 0, 0);
  for (const JpegSample& sample : our_samples()) {
    for (const Size size : {Size{61, 47}, Size{64, 48}, Size{32, 32}, Size{5, 3}, Size{8, 33}, Size{131, 17}}) {
      const auto bytes = make_jpeg(sample_image(size, random.bits()), sample);
      INFO(sample.name << ", " << size.width << " x " << size.height);
      const Rect all{0, 0, size.width, size.height};
      const auto expected = decoded(decoder, bytes, false, all);
      REQUIRE(expected.has_value());
      REQUIRE_FALSE(decoder.used_own_decoder());
      for (int i = 0; i < 12; ++i) {
        const Rect rect = i == 0 ? all : random_rect(random, size);
        const auto own = decoded(decoder, bytes, true, rect);
        REQUIRE(decoder.used_own_decoder());
        INFO(rect.width << " x " << rect.height << " at " << rect.x << ", " << rect.y);
        REQUIRE(own.has_value());
        REQUIRE(same_pixels(*own, crop_of(*expected, rect)));
      }
    }
  }
}

TEST_CASE("rows longer than one run of the innermost loop decode to libjpeg-turbo's pixels", "[codecs]") {
  JpegDecoder decoder;
  Random random(57, 0, 0, 0);
  for (const JpegSample& sample : our_samples()) {
    if (sample.quality != 60) continue;
    // At least three runs: an MCU of 4:2:0 has six blocks per 16 pixels, grey one block per 8.
    const Size size{sample.colour == SampleColour::kGrey ? 8400 : 4200, 17};
    const auto bytes = make_jpeg(sample_image(size, random.bits()), sample);
    const Rect all{0, 0, size.width, size.height};
    const auto expected = decoded(decoder, bytes, false, all);
    for (int i = 0; i < 12; ++i) {
      const Rect rect = i == 0 ? all : random_rect(random, size);
      const auto own = decoded(decoder, bytes, true, rect);
      REQUIRE(decoder.used_own_decoder());
      INFO(sample.name << ", " << rect.width << " x " << rect.height << " at " << rect.x << ", " << rect.y);
      REQUIRE(same_pixels(*own, crop_of(*expected, rect)));
    }
  }
}

TEST_CASE("baseline files decode at reduced size to libjpeg-turbo's pixels, whole and in part", "[codecs]") {
  JpegDecoder decoder;
  Random random(54, 0, 0, 0);
  for (const JpegSample& sample : our_samples()) {
    for (const Size size :
         {Size{61, 47}, Size{128, 64}, Size{32, 32}, Size{9, 5}, Size{33, 130}, Size{131, 17}, Size{1, 1}}) {
      const auto bytes = make_jpeg(sample_image(size, random.bits()), sample);
      for (const int reduction : {2, 4, 8}) {
        INFO(sample.name << ", " << size.width << " x " << size.height << ", 1/" << reduction);
        const Size reduced = {(size.width + reduction - 1) / reduction, (size.height + reduction - 1) / reduction};
        const Rect all{0, 0, reduced.width, reduced.height};
        const auto expected = decoded(decoder, bytes, false, all, reduction);
        REQUIRE(expected.has_value());
        // libjpeg does not smooth components one or two samples wide.
        const bool halved = sample.colour == SampleColour::kYcc && sample.horizontal == 2 && sample.vertical == 1;
        const bool narrow = halved && reduction < 8 && size.width <= 4 * reduction;
        for (int i = 0; i < 8; ++i) {
          const Rect rect = i == 0 ? all : random_rect(random, reduced);
          const auto own = decoded(decoder, bytes, true, rect, reduction);
          REQUIRE(decoder.used_own_decoder() != narrow);
          INFO(rect.width << " x " << rect.height << " at " << rect.x << ", " << rect.y);
          REQUIRE(own.has_value());
          REQUIRE(same_pixels(*own, crop_of(*expected, rect)));
        }
      }
    }
  }
}

TEST_CASE("our own decoder gives the same pixels on every instruction set", "[codecs]") {
  JpegDecoder decoder;
  for (const JpegSample& sample : our_samples()) {
    if (sample.quality != 60) continue;
    const auto bytes = make_jpeg(sample_image({77, 50}, 9), sample);
    for (const int reduction : {1, 2, 4, 8}) {
      const Rect all{0, 0, (77 + reduction - 1) / reduction, (50 + reduction - 1) / reduction};
      const auto expected = decoded(decoder, bytes, false, all, reduction);
      testing::on_every_target([&](const std::string& target) {
        INFO(sample.name << ", 1/" << reduction << ", " << target);
        const auto own = decoded(decoder, bytes, true, all, reduction);
        CHECK(decoder.used_own_decoder());
        CHECK(same_pixels(*own, *expected));
      });
    }
  }
}

namespace {

// Our own decoder decodes the file to libjpeg-turbo's pixels at every reduction, whole and in part.
void check_own_decoder(const std::vector<std::uint8_t>& bytes, Size size, const std::string& what) {
  JpegDecoder decoder;
  Random random(58, 0, 0, 0);
  for (const int reduction : {1, 2, 4, 8}) {
    const Size reduced = {(size.width + reduction - 1) / reduction, (size.height + reduction - 1) / reduction};
    const Rect all{0, 0, reduced.width, reduced.height};
    const auto expected = decoded(decoder, bytes, false, all, reduction);
    INFO(what << ", 1/" << reduction);
    REQUIRE(expected.has_value());
    REQUIRE_FALSE(decoder.used_own_decoder());
    for (int i = 0; i < 6; ++i) {
      const Rect rect = i == 0 ? all : random_rect(random, reduced);
      const auto own = decoded(decoder, bytes, true, rect, reduction);
      REQUIRE(decoder.used_own_decoder());
      REQUIRE(own.has_value());
      REQUIRE(same_pixels(*own, crop_of(*expected, rect)));
    }
  }
}

}  // namespace

TEST_CASE("8-bit sequential files decode alike with either frame marker", "[codecs]") {
  JpegDecoder decoder;
  const Size size{61, 47};
  const Rect all{0, 0, size.width, size.height};
  for (const JpegSample& sample : our_samples()) {
    if (sample.quality > 60) continue;
    const auto bytes = make_jpeg(sample_image(size, 3), sample);
    const bool extended = sample.first_table > 0 || sample.wide_quantisers;
    // Baseline files marked as extended, and extended files marked as baseline, which libjpeg-turbo accepts.
    const auto other = with_frame(bytes, extended ? 0xC0 : 0xC1);
    REQUIRE(other != bytes);
    check_own_decoder(other, size, sample.name);
    CHECK(same_pixels(*decoded(decoder, other, true, all), *decoded(decoder, bytes, true, all)));
  }
}

#if defined(__x86_64__)
// On other machines libjpeg-turbo's SIMD code treats coefficients that overflow 16 bits differently (idct.h).
TEST_CASE("16-bit quantisers of any value multiply as in libjpeg-turbo", "[codecs]") {
  const Size size{61, 47};
  for (const JpegSample& sample : our_samples()) {
    if (sample.wide_quantisers) continue;
    const auto bytes = make_jpeg(sample_image(size, 4), sample);
    // At quality 100 all quantisers are 1. Factors: 200, the largest positive 16-bit number, the next one, the largest.
    for (const unsigned factor : {200u, 32'767u, 32'768u, 65'535u}) {
      check_own_decoder(with_quantisers_times(bytes, factor), size, sample.name + ", times " + std::to_string(factor));
    }
  }
}
#endif

TEST_CASE("files with one scan per component decode to the pixels of files with one scan", "[codecs]") {
  JpegDecoder decoder;
  Random random(59, 0, 0, 0);
  for (JpegSample sample : our_samples()) {
    if (sample.colour == SampleColour::kGrey || sample.quality > 60) continue;
    for (const Size size : {Size{61, 47}, Size{32, 32}, Size{17, 9}}) {
      INFO(sample.name << ", " << size.width << " x " << size.height);
      const Image image = sample_image(size, random.bits());
      sample.interleaved = true;
      const auto together = make_jpeg(image, sample);
      sample.interleaved = false;
      const auto apart = make_jpeg(image, sample);
      REQUIRE(scan_starts(apart).size() == 3);
      CHECK(decoder.open(apart).jpeg == JpegKind::kScans);
      for (const int reduction : {1, 2, 4, 8}) {
        const Size reduced = {(size.width + reduction - 1) / reduction, (size.height + reduction - 1) / reduction};
        for (int i = 0; i < 4; ++i) {
          const Rect rect = i == 0 ? Rect{0, 0, reduced.width, reduced.height} : random_rect(random, reduced);
          const auto expected = decoded(decoder, together, true, rect, reduction);
          const auto found = decoded(decoder, apart, true, rect, reduction);
          REQUIRE_FALSE(decoder.used_own_decoder());
          REQUIRE(found.has_value());
          REQUIRE(same_pixels(*found, *expected));
        }
      }
    }
  }
}

TEST_CASE("files that our own decoder does not support go to libjpeg-turbo", "[codecs]") {
  JpegDecoder decoder;
  for (const JpegSample& sample : all_jpeg_samples()) {
    const bool ours = !sample.progressive && !sample.arithmetic && sample.interleaved && sample.horizontal <= 2 &&
                      sample.vertical <= 2 &&
                      (sample.colour == SampleColour::kYcc || sample.colour == SampleColour::kGrey);
    INFO(sample.name);
    REQUIRE(decoded(decoder, make_jpeg(sample_image({40, 40}, 1), sample), true, {0, 0, 40, 40}).has_value());
    CHECK(decoder.used_own_decoder() == ours);
  }
  // Too narrow for smooth upsampling.
  REQUIRE(decoded(decoder, make_jpeg(sample_image({4, 40}, 1), {}), true, {0, 0, 4, 40}).has_value());
  CHECK_FALSE(decoder.used_own_decoder());
}

// Results for damaged copies of a file.
struct Judged {
  int rejected = 0;
  int own = 0;  // decoded by our own decoder
};

// Compares both decoders on copies first .. end - 1, each damaged differently. A single wrong bit is mostly in a value,
// so that decoding continues in step; a wrong byte mostly changes all codes up to the scan's end.
void judge_damaged(JpegDecoder& decoder, const std::vector<std::uint8_t>& bytes, std::uint32_t first, std::uint32_t end,
                   Judged& judged) {
  for (std::uint32_t i = first; i < end; ++i) {
    Random random(52, 0, i, 0);
    auto damaged = bytes;
    const bool one_bit = random.below(2) == 0;
    const std::uint32_t changes = one_bit ? 1 : 1 + random.below(3);
    for (std::uint32_t k = 0; k < changes; ++k) {
      // Mostly in the entropy-coded part, the last two thirds of the file.
      const std::uint32_t start = random.below(4) == 0 ? 2 : static_cast<std::uint32_t>(bytes.size() / 3);
      std::uint8_t& byte = damaged[start + random.below(static_cast<std::uint32_t>(bytes.size()) - start)];
      byte = static_cast<std::uint8_t>(one_bit ? byte ^ 1u << random.below(8) : random.bits());
    }
    if (random.below(8) == 0)
      damaged.resize(bytes.size() / 3 + random.below(static_cast<std::uint32_t>(bytes.size() / 2)));
    const int reduction = 1 << i % 4;
    Rect all;
    try {
      const Size size = decoder.open(damaged).size;
      if (std::int64_t{size.width} * size.height > 300 * 300) continue;
      all = {0, 0, (size.width + reduction - 1) / reduction, (size.height + reduction - 1) / reduction};
    } catch (const Error&) {
      continue;
    }
    INFO("damage " << i << ", 1/" << reduction);
    const auto expected = decoded(decoder, damaged, false, all, reduction);
    const auto ours = decoded(decoder, damaged, true, all, reduction);
    judged.own += decoder.used_own_decoder() ? 1 : 0;
    REQUIRE(ours.has_value() == expected.has_value());
    if (ours.has_value()) {
#if defined(__x86_64__)
      // On other machines libjpeg-turbo's SIMD code treats coefficients that overflow 16 bits differently (idct.h).
      // Ours gives the same pixels on every machine.
      REQUIRE(same_pixels(*ours, *expected));
#endif
    } else {
      ++judged.rejected;
    }
  }
}

TEST_CASE("damaged files are rejected, or decode to the same pixels, as in libjpeg-turbo", "[codecs]") {
  Judged judged;
  for (const bool pairs : {false, true}) {
    JpegDecoder decoder;
    decoder.use_pairs(pairs);
    for (const JpegSample& sample : our_samples()) {
      INFO(sample.name << (pairs ? ", entries of two symbols" : ""));
      const std::uint32_t first = pairs ? 60 : 0;
      judge_damaged(decoder, make_jpeg(sample_image({40, 40}, 4), sample), first, first + 60, judged);
    }
  }
  CHECK(judged.rejected > 500);
  CHECK(judged.own > 500);
}

TEST_CASE("damaged files with long scans are rejected, or decode, as in libjpeg-turbo", "[codecs]") {
  JpegDecoder decoder;
  Judged judged;
  for (const JpegSample& sample : our_samples()) {
    if (sample.quality != 100) continue;
    // For longer scans, tables have entries of two symbols by default (kWorthPairs in scan_reader.cpp).
    constexpr std::size_t kLong = 8192 + 1024;
    const auto bytes = make_jpeg(sample_image({128, 96}, 4), sample);
    INFO(sample.name);
    REQUIRE(bytes.size() > kLong);
    judge_damaged(decoder, bytes, 0, 60, judged);
  }
  CHECK(judged.rejected > 100);
  CHECK(judged.own > 200);
}

TEST_CASE("a damaged file does not affect the next image", "[codecs]") {
  JpegDecoder decoder;
  for (const JpegSample& sample : our_samples()) {
    const auto bytes = make_jpeg(sample_image({40, 40}, 5), sample);
    const auto expected = decoded(decoder, bytes, true, {0, 0, 40, 40});
    auto damaged = bytes;
    damaged.resize(bytes.size() * 3 / 4);
    CHECK_FALSE(decoded(decoder, damaged, true, {0, 0, 40, 40}).has_value());
    CHECK(same_pixels(*decoded(decoder, bytes, true, {0, 0, 40, 40}), *expected));
  }
}

}  // namespace unstarve
