// The chain's kernels against their reference, and deferred colours against colours applied immediately.
#include "unstarve/ops/base/point_chain.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "unstarve/ops/base/window.h"
#include "unstarve/ops/colour/colours.h"
#include "unstarve/ops/colour/counts.h"
#include "unstarve/ops/resize/resize.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/ops/test_support.h"

namespace unstarve {
namespace {

using testing::Arrangement;
using testing::between;
using testing::Pixels;

PointTable random_table(Random& random) {
  PointTable table;
  for (auto& of : table.of) {
    for (auto& value : of) value = static_cast<std::uint8_t>(random.bits());
  }
  return table;
}

std::array<std::uint8_t, kChannels> random_order(Random& random) {
  std::array<std::uint8_t, kChannels> order{0, 1, 2};
  std::swap(order[2], order[random.below(3)]);
  std::swap(order[1], order[random.below(2)]);
  return order;
}

void add_random_step(PointChain& chain, Random& random) {
  switch (random.below(4)) {
    case 0: chain.add_table(random_table(random)); break;
    case 1: chain.add_blend_grey(random.below(4) == 0 ? kMaxBlend : random.uniform(0, 3)); break;
    case 2: chain.add_permute(random_order(random)); break;
    default: chain.add_hue(random.uniform(-1, 1));
  }
}

std::vector<std::uint8_t> random_bytes(std::size_t count, Random& random) {
  std::vector<std::uint8_t> bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.bits());
  return bytes;
}

// A colour operation by a random amount.
void change_colours(Frame& frame, Random& random, Scratch& scratch) {
  switch (random.below(11)) {
    case 0: return adjust_brightness(frame, random.uniform(0, 2), scratch);
    case 1: return adjust_contrast(frame, random.uniform(0, 2), scratch);
    case 2: return adjust_saturation(frame, random.uniform(0, 2), scratch);
    case 3: return adjust_hue(frame, random.uniform(-0.5, 0.5), scratch);
    case 4: return make_grey(frame, scratch);
    case 5: return posterize(frame, between(random, 0, 8), scratch);
    case 6: return solarize(frame, between(random, 0, 256), scratch);
    case 7: return invert(frame, scratch);
    case 8: return auto_contrast(frame, scratch);
    case 9: return permute_channels(frame, random_order(random), scratch);
    default: return equalize(frame, scratch);
  }
}

Image finished(const Frame& frame) {
  Image image(frame.size());
  for (int y = 0; y < frame.height; ++y) {
    for (int x = 0; x < frame.width; ++x) {
      for (int c = 0; c < kChannels; ++c) image.row(y)[x * kChannels + c] = window_value(frame, x, y, c);
    }
  }
  return image;
}

bool same(const Image& a, const Image& b) {
  return a.size() == b.size() && std::equal(a.data(), a.data() + a.bytes(), b.data());
}

}  // namespace

TEST_CASE("the chain's kernels equal the reference for one pixel on every instruction set", "[ops]") {
  testing::on_every_target([](const std::string& target) {
    for (std::uint32_t round = 0; round < 120; ++round) {
      Random random(71, 0, round, 0);
      INFO(target << ", round " << round);
      PointChain chain;
      for (std::uint32_t i = 0; i < 1 + random.below(4); ++i) add_random_step(chain, random);
      const std::size_t count = round < 100 ? round : 1000 + random.below(2000);
      std::array<std::vector<std::uint8_t>, kChannels> planes;
      for (auto& plane : planes) plane = random_bytes(count, random);
      std::vector<std::uint8_t> pixels(count * kChannels);
      std::vector<std::uint8_t> expected(count * kChannels);
      for (std::size_t x = 0; x < count; ++x) {
        const auto to = run_chain(chain, {planes[0][x], planes[1][x], planes[2][x]});
        for (std::size_t c = 0; c < kChannels; ++c) {
          pixels[kChannels * x + c] = planes[c][x];
          expected[kChannels * x + c] = to[c];
        }
      }
      run_chain(chain, {planes[0].data(), planes[1].data(), planes[2].data()}, count);
      run_chain(chain, pixels.data(), count);
      REQUIRE(pixels == expected);
      for (std::size_t x = 0; x < count; ++x) {
        for (std::size_t c = 0; c < kChannels; ++c) REQUIRE(planes[c][x] == expected[kChannels * x + c]);
      }
    }
  });
}

TEST_CASE("hue and saturation have the same bits for all 16 million colours on every instruction set", "[ops]") {
  std::vector<std::array<std::vector<std::uint8_t>, kChannels>> results;
  testing::on_every_target([&](const std::string&) {
    PointChain chain;
    chain.add_blend_grey(1.7);
    chain.add_hue(0.27);
    std::array<std::vector<std::uint8_t>, kChannels> planes;
    for (auto& plane : planes) plane.reserve(1 << 20);
    for (int r = 0; r < 256; r += 3) {
      for (int g = 0; g < 256; ++g) {
        for (int b = 0; b < 256; b += 5) {
          planes[0].push_back(static_cast<std::uint8_t>(r));
          planes[1].push_back(static_cast<std::uint8_t>(g));
          planes[2].push_back(static_cast<std::uint8_t>(b));
        }
      }
    }
    run_chain(chain, {planes[0].data(), planes[1].data(), planes[2].data()}, planes[0].size());
    results.push_back(planes);
  });
  for (const auto& result : results) CHECK(result == results.front());
}

TEST_CASE("consecutive tables are one step", "[ops]") {
  Random random(72, 0, 0, 0);
  PointChain chain;
  for (int i = 0; i < 20; ++i) chain.add_table(random_table(random));
  CHECK(chain.steps().size() == 1);
}

TEST_CASE("deferred or immediate, crops, flips, colours and resizing give the same pixels", "[ops]") {
  for (std::uint32_t round = 0; round < 300; ++round) {
    Random random(73, 0, round, 0);
    INFO("round " << round);
    const Pixels pixels({between(random, 1, 90), between(random, 1, 70)}, static_cast<Arrangement>(random.below(3)),
                        random);
    Scratch scratch, other_scratch;
    Frame lazy = testing::random_window(pixels.view, random);
    const std::array<std::uint8_t, kChannels> fill = lazy.fill;
    Image image = finished(lazy);
    for (int step = 0; step < 12; ++step) {
      Frame eager(image.view());
      eager.fill = lazy.fill = fill;  // make_pixels() clears it
      Random draws(74, round, static_cast<std::uint64_t>(step), 0);
      const auto change = [&](Frame& frame, Random stream, Scratch& memory) {
        switch (stream.below(8)) {
          case 0: frame.mirror(); break;
          case 1: frame.flip_vertically(); break;
          case 2:
            frame.crop({between(stream, -3, 3), between(stream, -3, 3), std::max(1, frame.width - 2),
                        std::max(1, frame.height - 1)});
            break;
          case 3: resize_bilinear(frame, {between(stream, 1, 60), between(stream, 1, 60)}, memory); break;
          default: change_colours(frame, stream, memory);
        }
      };
      change(lazy, draws, scratch);
      change(eager, draws, other_scratch);
      image = finished(eager);
      REQUIRE(same(finished(lazy), image));
    }
    // By the kernels, for planes and for interleaved pixels.
    Image copied(lazy.size());
    copy_window(lazy, 0, lazy.height, {copied.data(), static_cast<std::ptrdiff_t>(copied.row_bytes()), 1});
    REQUIRE(same(copied, image));
    for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
      const Storer storer({ElementType::kFloat32, layout, kImagenetNormalisation});
      const std::size_t values = storer.sample_bytes(lazy.size()) / sizeof(float);
      std::vector<float> stored(values), expected(values);
      storer.store(lazy, stored.data());
      storer.store_reference(Frame(image.view()), expected.data());
      REQUIRE(stored == expected);
    }
  }
}

TEST_CASE("statistics are those of the window as it looks", "[ops]") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    for (std::uint32_t round = 0; round < 60; ++round) {
      Random random(75, 0, round, 0);
      const bool wide = round % 20 == 0;
      const Pixels pixels({wide ? 5000 : between(random, 1, 200), between(random, 1, 60)},
                          static_cast<Arrangement>(random.below(3)), random);
      Scratch scratch;
      Frame frame = testing::random_window(pixels.view, random);
      if (round % 2 == 0) invert(frame, scratch);
      const Image image = finished(frame);
      Histograms expected{};
      Extremes range;
      range.least.fill(255);
      range.most.fill(0);
      std::uint64_t sum = 0;
      for (int y = 0; y < frame.height; ++y) {
        for (int x = 0; x < frame.width; ++x) {
          const std::uint8_t* const pixel = image.row(y) + x * kChannels;
          for (std::size_t c = 0; c < kChannels; ++c) {
            ++expected[c][pixel[c]];
            range.least[c] = std::min(range.least[c], pixel[c]);
            range.most[c] = std::max(range.most[c], pixel[c]);
          }
          sum += static_cast<std::uint64_t>(luma(pixel[0], pixel[1], pixel[2]));
        }
      }
      REQUIRE(histograms(frame) == expected);
      REQUIRE(extremes(frame).least == range.least);
      REQUIRE(extremes(frame).most == range.most);
      const auto count = static_cast<double>(frame.width) * frame.height;
      REQUIRE(mean_luma(frame) == static_cast<int>(static_cast<double>(sum) / count + 0.5));
    }
  });
}

}  // namespace unstarve
