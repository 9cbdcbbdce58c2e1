// Gathered pixels compared with those that the operations make.

#include "unstarve/ops/gather_chain.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/ops/base/window.h"
#include "unstarve/ops/test_chains.h"
#include "unstarve/ops/test_support.h"

namespace unstarve {
namespace {

using testing::Arrangement;
using testing::Chain;
using testing::Pixels;

// The image with the row and the column of the border.
std::vector<std::uint8_t> bordered(const PixelView& image, const Rgb& colour) {
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y <= image.height; ++y)
    for (int x = 0; x <= image.width; ++x)
      for (int c = 0; c < kChannels; ++c)
        pixels.push_back(y < image.height && x < image.width ? image.at(x, y, c) : colour[static_cast<std::size_t>(c)]);
  return pixels;
}

std::vector<std::uint8_t> gathered(GatherChain& chain, const PixelView& image, std::uint32_t draw, std::uint64_t id) {
  const Size size = chain.output_size();
  std::vector<std::int32_t> rows(static_cast<std::size_t>(size.height)), columns(static_cast<std::size_t>(size.width));
  chain.map(draw, id, rows, columns);
  const std::vector<std::uint8_t> from = bordered(image, chain.border_colour());
  std::vector<std::uint8_t> pixels;
  for (const std::int32_t row : rows)
    for (const std::int32_t column : columns)
      for (int c = 0; c < kChannels; ++c)
        pixels.push_back(from.at(static_cast<std::size_t>((row * (image.width + 1) + column) * kChannels + c)));
  return pixels;
}

std::vector<std::uint8_t> operated(const Chain& chain, const PixelView& image, std::uint32_t draw, std::uint64_t id,
                                   std::size_t first) {
  Scratch scratch;
  Frame frame(image);
  for (std::size_t i = 0; i < chain.operations.size(); ++i) {
    Random random(9, draw, id, static_cast<std::uint32_t>(first + i));
    frame.crop(chain.operations[i]->select(frame.size(), random));
    chain.operations[i]->apply(frame, random, scratch);
  }
  const Image& made = make_pixels(frame, scratch);
  return {made.data(), made.data() + made.bytes()};
}

}  // namespace

TEST_CASE("gathered pixels are those of the operations") {
  const OpSpec flip{"horizontal_flip", {}}, alternating{"alternating_flip", {}};
  const auto crop = [](double side, double padding, const char* mode) {
    return OpSpec{"pad_crop", {{"size", {side}}, {"padding", {padding}}, {"padding_mode", mode}}};
  };
  OpSpec coloured = crop(20, 5, "constant");
  coloured.params["fill"] = {1, 20, 255};
  OpSpec uneven = crop(11, 3, "reflect");
  uneven.params["padding"] = {1, 2, 7, 9};
  const std::vector<std::vector<OpSpec>> chains{
      {},
      {flip},
      {alternating},
      {crop(17, 4, "constant"), flip},
      {alternating, crop(17, 2, "reflect")},
      {crop(17, 2, "reflect"), alternating},
      {flip, crop(23, 6, "edge"), alternating},
      {crop(40, 9, "symmetric"), flip, flip},
      {crop(9, 0, "reflect"), flip},
      {crop(40, 0, "reflect"), flip},
      {coloured, alternating},
      {flip, uneven},
  };
  Random random(1, 0, 0, 0);
  for (const std::vector<OpSpec>& specs : chains) {
    CAPTURE(specs.empty() ? std::string() : specs[0].name + to_text(specs[0].params));
    CHECK(GatherChain::why_not(specs, 0).empty());
    for (const std::size_t first : {std::size_t{0}, std::size_t{2}}) {
      const Pixels pixels({17, 13}, Arrangement::kInterleaved, random);
      std::vector<OpSpec> all(first, OpSpec{"brightness", {{"factor", {1}}}});
      all.insert(all.end(), specs.begin(), specs.end());
      GatherChain chain(all, first, {17, 13}, 9);
      const Chain operations(specs);
      for (std::uint32_t draw = 0; draw < 6; ++draw)
        for (std::uint64_t id = 0; id < 20; ++id)
          REQUIRE(gathered(chain, pixels.view, draw, id) == operated(operations, pixels.view, draw, id, first));
    }
  }
}

TEST_CASE("operations that change pixels, or follow a schedule, are not gathered") {
  const OpSpec flip{"horizontal_flip", {}}, crop{"pad_crop", {{"size", {32}}}};
  OpSpec growing = crop;
  growing.params["padding"].schedule.points = {{0, {0}}, {2, {4}}};
  CHECK(GatherChain::why_not(std::vector{flip, crop}, 0).empty());
  CHECK_THAT(GatherChain::why_not(std::vector{crop, OpSpec{"hue", {}}}, 0),
             Catch::Contains("operations[1]: found hue; expected one of horizontal_flip, alternating_flip, pad_crop"));
  CHECK_THAT(GatherChain::why_not(std::vector{crop, flip, crop}, 0), Catch::Contains("second pad_crop"));
  CHECK_THAT(GatherChain::why_not(std::vector{growing}, 0), Catch::Contains("schedule"));
}

TEST_CASE("operations before the first random one are found") {
  const OpSpec flip{"horizontal_flip", {}}, resize{"resize", {{"size", {32}}}};
  const OpSpec never{"horizontal_flip", {{"probability", {0}}}};
  CHECK(first_random_operation(std::vector{resize, never, flip}) == 2);
  CHECK(first_random_operation(std::vector{resize}) == 1);
  CHECK(first_random_operation({}) == 0);
}

}  // namespace unstarve
