#include "unstarve/ops/resize/resize_rows.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <catch2/catch.hpp>

#include "unstarve/codecs/common/orientation.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/resize/resize.h"
#include "unstarve/ops/test_support.h"

namespace unstarve {
namespace {

using testing::between;

std::unique_ptr<Operation> resize_to(Size size, const char* interpolation) {
  return make_operation({"resize",
                         {{"size", {static_cast<double>(size.height), static_cast<double>(size.width)}},
                          {"interpolation", interpolation}}});
}

// Passes rows of `image` to `sink` as a decoder does: up to `most` at a time.
void bring(const Image& image, int rows, int most, Random& random, RowSink& sink) {
  for (int y = 0; y < rows;) {
    const int count = std::min(rows - y, between(random, 1, most));
    std::ptrdiff_t stride = 0;
    std::uint8_t* const to = sink.room(count, stride);
    for (int i = 0; i < count; ++i) {
      std::memcpy(to + i * stride, image.row(y + i), image.row_bytes());
      // A decoder also writes beyond a row.
      if (stride > static_cast<std::ptrdiff_t>(image.row_bytes())) {
        std::fill(to + i * stride + image.row_bytes(), to + (i + 1) * stride, std::uint8_t{255});
      }
    }
    sink.take(count);
    y += count;
  }
}

// The orientation that turns the upright image into the stored one: 6 and 8 (90 degrees right and left) are inverse to
// each other, all others to themselves.
int inverse_of(int orientation) { return orientation == 6 || orientation == 8 ? 14 - orientation : orientation; }

TEST_CASE("rows resized as they arrive have the bits of the whole image resized") {
  constexpr const char* kInterpolations[] = {"nearest", "bilinear", "bicubic", "box", "area", "lanczos"};
  testing::on_every_target([&](const std::string& target) {
    INFO(target);
    Random random(31, 0, 0, 0);
    Scratch scratch, other;
    for (int trial = 0; trial < 200; ++trial) {
      const Size size{between(random, 1, trial % 10 == 0 ? 700 : 90), between(random, 1, trial % 10 == 1 ? 700 : 90)};
      // Sometimes one side or both stay unchanged.
      const Size to{trial % 7 == 0 ? size.width : between(random, 1, 120),
                    trial % 5 == 0 ? size.height : between(random, 1, 120)};
      INFO(size.width << "x" << size.height << " to " << to.width << "x" << to.height);
      Image image(size);
      for (std::size_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<std::uint8_t>(random.below(256));
      const auto operation = resize_to(to, kInterpolations[random.below(std::size(kInterpolations))]);
      Frame expected(image.view());
      operation->apply(expected, random, other);

      ResizeRows rows([&](Size from) { return whole_resize(from, *operation->only_resizes(from)); }, 1, scratch);
      // A decoder failed half way and another one started again.
      rows.begin(size);
      bring(image, between(random, 0, size.height), 17, random, rows);
      rows.begin(size);
      bring(image, size.height, 17, random, rows);
      const Frame frame(rows.pixels());
      REQUIRE(frame.size() == to);
      for (int y = 0; y < to.height; ++y) {
        REQUIRE(std::memcmp(frame.pixels.data + y * frame.pixels.row_stride,
                            expected.pixels.data + y * expected.pixels.row_stride,
                            static_cast<std::size_t>(to.width) * kChannels) == 0);
      }
    }
  });
}

TEST_CASE("a part of a resize, computed from the part that it reads, has the bits of the whole for any orientation") {
  constexpr Resampling::Kind kKinds[] = {Resampling::Kind::kNearest, Resampling::Kind::kBilinear,
                                         Resampling::Kind::kBicubic, Resampling::Kind::kBox,
                                         Resampling::Kind::kArea,    Resampling::Kind::kLanczos};
  testing::on_every_target([&](const std::string& target) {
    INFO(target);
    Random random(37, 0, 0, 0);
    Scratch scratch, other;
    int smaller = 0;
    for (int trial = 0; trial < 1000; ++trial) {
      const Size size{between(random, 1, trial % 10 == 0 ? 700 : 90), between(random, 1, trial % 10 == 1 ? 700 : 90)};
      const Size to{trial % 7 == 0 ? size.width : between(random, 1, 120),
                    trial % 5 == 0 ? size.height : between(random, 1, 120)};
      const Resampling::Kind kind = kKinds[random.below(std::size(kKinds))];
      const bool may_alias = kind == Resampling::Kind::kBilinear || kind == Resampling::Kind::kBicubic;
      const Resampling resampling{kind, !may_alias || random.below(2) == 0};
      const int width = between(random, 1, to.width), height = between(random, 1, to.height);
      const Rect made{between(random, 0, to.width - width), between(random, 0, to.height - height), width, height};
      INFO(size.width << "x" << size.height << " to " << to.width << "x" << to.height << ", kind "
                      << static_cast<int>(resampling.kind) << " " << resampling.antialias << ", " << width << "x"
                      << height << " at " << made.x << ", " << made.y);
      Image image(size);
      for (std::size_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<std::uint8_t>(random.below(256));
      Frame whole(image.view());
      resize(whole, to, resampling, other);

      const ResizePart part{size, {to, resampling}, made};
      const Rect read = read_by(part, scratch);
      REQUIRE((read.x >= 0 && read.y >= 0 && read.x + read.width <= size.width && read.y + read.height <= size.height));
      smaller += read.width < size.width || read.height < size.height ? 1 : 0;
      const auto check = [&](const Frame& frame) {
        REQUIRE(frame.size() == made.size());
        for (int y = 0; y < made.height; ++y)
          REQUIRE(std::memcmp(frame.pixels.data + y * frame.pixels.row_stride,
                              whole.pixels.data + (made.y + y) * whole.pixels.row_stride + made.x * kChannels,
                              static_cast<std::size_t>(made.width) * kChannels) == 0);
      };
      Frame window(image.view());
      window.crop(read);
      resize_part(window, part, scratch);
      check(window);

      // From the image, and from rows in another orientation.
      Image cut(read.size()), stored;
      for (int y = 0; y < read.height; ++y)
        std::memcpy(cut.row(y), image.row(read.y + y) + read.x * kChannels, cut.row_bytes());
      const int orientation = 1 + static_cast<int>(random.below(8));
      INFO("orientation " << orientation);
      turn_upright(cut, inverse_of(orientation), stored);
      ResizeRows rows([&](Size) { return part; }, orientation, scratch);
      rows.begin(stored.size());
      bring(stored, stored.size().height / 2, 17, random, rows);  // a decoder that failed; another one starts again
      rows.begin(stored.size());
      bring(stored, stored.size().height, 17, random, rows);
      check(Frame(rows.pixels()));
    }
    CHECK(smaller > 700);
  });
}

TEST_CASE("only_resizes() is set for operations that only resize") {
  const Size size{200, 100};
  const auto resize = make_operation({"resize", {{"size", {50}}}});
  REQUIRE(resize->only_resizes(size).has_value());
  CHECK(resize->only_resizes(size)->size == Size{100, 50});
  const auto crop = make_operation({"random_resized_crop", {{"size", {64}}, {"interpolation", "bicubic"}}});
  REQUIRE(crop->only_resizes(size).has_value());
  CHECK(crop->only_resizes(size)->size == Size{64, 64});
  CHECK(crop->only_resizes(size)->resampling.kind == Resampling::Kind::kBicubic);
  CHECK_FALSE(make_operation({"center_crop", {{"size", {64}}}})->only_resizes(size));
  CHECK_FALSE(make_operation({"gaussian_blur", {{"sigma", {1}}}})->only_resizes(size));
}

}  // namespace
}  // namespace unstarve
