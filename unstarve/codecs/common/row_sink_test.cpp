#include "unstarve/codecs/common/row_sink.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/codecs/common/orientation.h"
#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/testing/jpeg_samples.h"

namespace unstarve {
namespace {

// Writes into an image and throws after a number of strips.
class Limited final : public RowSink {
 public:
  Limited(Image& image, int strips) : rows_(image), left_(strips) {}
  void begin(Size size) override { rows_.begin(size); }
  std::uint8_t* room(int count, std::ptrdiff_t& stride) override {
    if (left_-- == 0) throw std::runtime_error("no more room");
    return rows_.room(count, stride);
  }
  void take(int count) override { rows_.take(count); }

 private:
  ImageRows rows_;
  int left_;
};

bool same(const Image& a, const Image& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

TEST_CASE("decoding row by row equals decoding the whole image", "[codecs]") {
  for (const int restarts : {0, 5}) {
    JpegSample sample;
    sample.horizontal = sample.vertical = 2;
    sample.restart_interval = restarts;
    const std::vector<std::uint8_t> file = make_jpeg(sample_image({190, 130}, 7), sample);
    Decoder decoder;
    Image whole, rows, other;
    decoder.open(file);
    decoder.decode({{}, 1, {}, true}, whole);
    const std::vector<std::uint8_t> index(decoder.made_index().begin(), decoder.made_index().end());
    ImageRows sink(rows);
    decoder.open(file);
    REQUIRE(decoder.decode({}, sink, other));
    CHECK(same(rows, whole));

    // The decoder stays usable after a sink has thrown at any strip.
    for (const bool indexed : {false, true}) {
      DecodeRequest request;
      request.crop = {0, 0, 190, 130};
      if (indexed) request.index = index;
      for (int strips = 0; strips < 8; ++strips) {
        Limited limited(rows, strips);
        decoder.open(file);
        REQUIRE_THROWS_AS((void)decoder.decode(request, limited, other), std::runtime_error);
        decoder.open(file);
        decoder.decode(request, other);
        CHECK(same(other, whole));
      }
    }
  }
}

// The part of `whole`, an upright image at the request's reduction, that the request selects.
Image part_of(const Image& whole, DecodeRequest request) {
  if (request.crop.width == 0) {
    request.crop = {0, 0, whole.size().width * request.reduction, whole.size().height * request.reduction};
  }
  const Rect& crop = request.crop;
  const int r = request.reduction, left = crop.x / r, top = crop.y / r;
  Image part({(crop.x + crop.width + r - 1) / r - left, (crop.y + crop.height + r - 1) / r - top});
  for (int y = 0; y < part.size().height; ++y)
    std::memcpy(part.row(y), whole.row(top + y) + left * kChannels, part.row_bytes());
  return part;
}

TEST_CASE("decoding with an orientation, whole or row by row, equals turning the stored image", "[codecs]") {
  JpegSample progressive;
  progressive.progressive = true;
  for (const JpegSample& sample : {JpegSample{}, progressive}) {
    const std::vector<std::uint8_t> untold = make_jpeg(sample_image({190, 131}, 7), sample);
    Decoder decoder;
    Image stored, whole, rows, other;
    AlignedBytes strip;
    for (int orientation = 2; orientation <= 8; ++orientation) {
      INFO(sample.name << ", orientation " << orientation);
      const auto file = with_orientation(untold, orientation, true);
      const Size size = decoder.open(file).size;
      decoder.decode({{}, 1, {}, true}, whole);
      const std::vector<std::uint8_t> index(decoder.made_index().begin(), decoder.made_index().end());
      CHECK(index.empty() == sample.progressive);
      const Rect crop{13, 9, size.width - 40, size.height - 50};
      for (const DecodeRequest& request : {DecodeRequest{}, DecodeRequest{crop}, DecodeRequest{crop, 1, index},
                                           DecodeRequest{crop, 2, index}, DecodeRequest{{0, 0, 1, 1}}}) {
        decoder.open(untold);
        decoder.decode({{}, request.reduction}, stored);
        turn_upright(stored, orientation, whole);
        const Image expected = part_of(whole, request);
        decoder.open(file);
        decoder.decode(request, rows);
        CHECK(same(rows, expected));
        rows.resize({});
        TurnedRows sink(orientation, strip, rows);
        decoder.open(file);
        REQUIRE(decoder.decode(request, sink, other));
        CHECK(decoder.index_use() == (request.index.empty() ? IndexUse::kNone : IndexUse::kUsed));
        CHECK(same(rows, expected));
        CHECK(other.size() == Size{});
      }
      decoder.open(untold);
      decoder.decode({}, stored);
      turn_upright(stored, orientation, whole);
      for (int strips = 0; strips < 4; ++strips) {
        Limited limited(rows, strips);
        decoder.open(file);
        REQUIRE_THROWS_AS((void)decoder.decode({}, limited, other), std::runtime_error);
        decoder.open(file);
        decoder.decode({}, other);
        CHECK(same(other, whole));
        other.resize({});
      }
    }
  }
}

TEST_CASE("an upright image of another decoder than our own JPEG decoder is delivered whole", "[codecs]") {
  JpegSample progressive;
  progressive.progressive = true;
  const Image image = sample_image({60, 40}, 3);
  for (const auto& file : {make_jpeg(image, progressive), encode_png(image.view())}) {
    Decoder decoder;
    Image whole, rows, other;
    decoder.open(file);
    decoder.decode({}, whole);
    ImageRows sink(rows);
    decoder.open(file);
    CHECK_FALSE(decoder.decode({}, sink, other));
    CHECK(same(other, whole));
  }
}

}  // namespace
}  // namespace unstarve
