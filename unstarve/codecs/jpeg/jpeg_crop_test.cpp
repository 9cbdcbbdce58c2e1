// A decoded crop equals the crop of the whole image, bit for bit: over samplings, colour spaces, sizes, reductions and
// positions.
#include <algorithm>
#include <catch2/catch.hpp>

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/testing/jpeg_samples.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

int divided_up(int value, int divisor) { return (value + divisor - 1) / divisor; }

Image decoded_part(Decoder& decoder, const std::vector<std::uint8_t>& bytes, const DecodeRequest& request) {
  Image out;
  decoder.open(bytes);
  decoder.decode(request, out);
  return out;
}

// Random rectangles, many of them small or touching an edge.
Rect random_edge_rect(Random& random, Size size) {
  const auto side = [&random](int whole) {
    const std::uint32_t kind = random.below(4);
    const int limit = kind == 0 ? std::min(whole, 3) : whole;
    return kind == 1 ? whole : 1 + static_cast<int>(random.below(static_cast<std::uint32_t>(limit)));
  };
  const auto position = [&random](int room) {
    const std::uint32_t kind = random.below(4);
    if (kind == 0) return 0;
    if (kind == 1) return room;
    return static_cast<int>(random.below(static_cast<std::uint32_t>(room) + 1));
  };
  Rect rect{0, 0, side(size.width), side(size.height)};
  rect.x = position(size.width - rect.width);
  rect.y = position(size.height - rect.height);
  return rect;
}

void check_crops(Decoder& decoder, const std::vector<std::uint8_t>& bytes, Size size, Random& random, int crops) {
  for (const int reduction : {1, 2, 4, 8}) {
    const Image whole = decoded_part(decoder, bytes, {{}, reduction});
    REQUIRE(whole.size() == Size{divided_up(size.width, reduction), divided_up(size.height, reduction)});
    for (int i = 0; i < crops; ++i) {
      const Rect rect = random_edge_rect(random, size);
      const int left = rect.x / reduction;
      const int top = rect.y / reduction;
      const Rect reduced{left, top, divided_up(rect.x + rect.width, reduction) - left,
                         divided_up(rect.y + rect.height, reduction) - top};
      const bool same = same_pixels(decoded_part(decoder, bytes, {rect, reduction}), crop_of(whole, reduced));
      if (!same) {
        INFO("image " << size.width << "x" << size.height << ", crop " << rect.width << "x" << rect.height << " at "
                      << rect.x << "," << rect.y << ", reduction " << reduction);
        CHECK(same);
      }
    }
  }
  SUCCEED();
}

}  // namespace

TEST_CASE("a JPEG crop equals the crop of the whole image", "[codecs]") {
  Decoder decoder;
  const std::vector<JpegSample> samples = all_jpeg_samples();
  for (std::size_t k = 0; k < samples.size(); ++k) {
    const JpegSample& sample = samples[k];
    Random random(7, 0, k, 0);
    DYNAMIC_SECTION(sample.name) {
      for (int i = 0; i < 40; ++i) {
        // Half of them within three blocks, where margins reach the edges.
        const std::uint32_t limit = i % 2 == 0 ? 50 : 200;
        const Size size{1 + static_cast<int>(random.below(limit)), 1 + static_cast<int>(random.below(limit))};
        const auto bytes = make_jpeg(sample_image(size, static_cast<std::uint32_t>(i)), sample);
        check_crops(decoder, bytes, size, random, 12);
      }
    }
  }
}

TEST_CASE("a JPEG crop equals the crop of the whole image at every position of a small image", "[codecs]") {
  Decoder decoder;
  for (const JpegSample& sample : all_jpeg_samples()) {
    DYNAMIC_SECTION(sample.name) {
      const Size size{37, 35};
      const auto bytes = make_jpeg(sample_image(size, 3), sample);
      for (const int reduction : {1, 2, 4, 8}) {
        const Image whole = decoded_part(decoder, bytes, {{}, reduction});
        int different = 0;
        for (int y = 0; y < whole.size().height; ++y) {
          for (int x = 0; x < whole.size().width; ++x) {
            const Image pixel = decoded_part(decoder, bytes, {{x * reduction, y * reduction, 1, 1}, reduction});
            different += same_pixels(pixel, crop_of(whole, {x, y, 1, 1})) ? 0 : 1;
          }
        }
        CHECK(different == 0);
      }
    }
  }
}

TEST_CASE("a crop of a progressive JPEG without its last scans is smoothed like the whole image", "[codecs]") {
  const Size size{130, 90};
  for (const JpegSample& sample : all_jpeg_samples()) {
    if (!sample.progressive) continue;
    Decoder decoder;
    const auto bytes = make_jpeg(sample_image(size, 5), sample);
    const auto starts = scan_starts(bytes);
    REQUIRE(starts.size() > 2);
    for (std::size_t scans = 1; scans < starts.size(); ++scans) {
      DYNAMIC_SECTION(sample.name << ", " << scans << " scans") {
        std::vector<std::uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(starts[scans]));
        cut.insert(cut.end(), {0xFF, 0xD9});
        Random random(9, 0, scans, 0);
        check_crops(decoder, cut, size, random, 10);
      }
    }
  }
}

TEST_CASE("an upright JPEG crop equals the crop of the upright image", "[codecs]") {
  Decoder decoder;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    DYNAMIC_SECTION("orientation " << orientation) {
      Random random(11, 0, static_cast<std::uint64_t>(orientation), 0);
      for (int i = 0; i < 12; ++i) {
        const Size stored{1 + static_cast<int>(random.below(120)), 1 + static_cast<int>(random.below(120))};
        const auto plain = make_jpeg(sample_image(stored, static_cast<std::uint32_t>(i)), {});
        const auto bytes = with_orientation(plain, orientation, i % 2 == 0);
        const Size upright = orientation >= 5 ? Size{stored.height, stored.width} : stored;
        check_crops(decoder, bytes, upright, random, 10);
      }
    }
  }
}

}  // namespace unstarve
