#include "unstarve/ops/resize/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <vector>

#include <catch2/catch.hpp>

#include "unstarve/ops/resize/axis_filter.h"
#include "unstarve/ops/test_support.h"

namespace unstarve {
namespace {

using testing::Arrangement;
using testing::between;
using testing::Pixels;
using Kind = Resampling::Kind;

// Every filter.
constexpr Resampling kAll[] = {{Kind::kBilinear, true},  {Kind::kNearest, true}, {Kind::kBicubic, true},
                               {Kind::kBox, true},       {Kind::kArea, true},    {Kind::kLanczos, true},
                               {Kind::kBilinear, false}, {Kind::kBicubic, false}};

bool same_pixels(const Frame& frame, const Image& expected) {
  if (frame.pixels.size() != expected.size() || !frame.pixels.interleaved()) return false;
  for (int y = 0; y < frame.pixels.height; ++y) {
    if (std::memcmp(frame.pixels.data + y * frame.pixels.row_stride, expected.row(y), expected.row_bytes()) != 0) {
      return false;
    }
  }
  return true;
}

TEST_CASE("a resize gives the reference's bits on every instruction set") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    Random random(1, 0, 0, 0);
    Scratch scratch;
    Image expected;
    for (int trial = 0; trial < 400; ++trial) {
      const Resampling resampling = kAll[trial % 2 == 0 ? 0 : random.below(std::size(kAll))];
      const int longest = trial % 10 == 0 ? 700 : 90;
      const Pixels pixels({between(random, 1, longest), between(random, 1, longest)},
                          static_cast<Arrangement>(random.below(3)), random);
      Frame frame = testing::random_window(pixels.view, random);
      if (trial % 3 == 0) frame.flip_vertically();
      const Size size{between(random, 1, 120), between(random, 1, 120)};
      INFO("window " << frame.width << "x" << frame.height << " to " << size.width << "x" << size.height);
      const bool mirrored = frame.mirrored;
      resize_reference(frame, size, resampling, expected);
      resize(frame, size, resampling, scratch);
      REQUIRE(frame.mirrored == mirrored);
      REQUIRE(same_pixels(frame, expected));
    }
  });
}

TEST_CASE("rows of one pixel upside down, and one row repeated, are resized like others") {
  Random random(3, 0, 0, 0);
  Scratch scratch;
  Image expected;
  const Pixels column({1, 40}, Arrangement::kInterleaved, random), row({10, 1}, Arrangement::kInterleaved, random);
  PixelView repeated = row.view;
  repeated.height = 10;
  repeated.row_stride = 0;
  for (const PixelView& view : {column.view, repeated}) {
    for (const Resampling resampling : kAll) {
      Frame frame(view);
      frame.flip_vertically();
      resize_reference(frame, {7, 20}, resampling, expected);
      resize(frame, {7, 20}, resampling, scratch);
      CHECK(same_pixels(frame, expected));
    }
  }
}

TEST_CASE("nearest picks the pixels that contain the output's centres, on every instruction set") {
  testing::on_every_target([](const std::string& target) {
    Random random(9, 0, 0, 0);
    Scratch scratch;
    // Odd sides: no centre is on the border of two pixels, where rounding decides.
    for (const Size from : {Size{1, 1}, Size{7, 301}, Size{65, 49}, Size{333, 21}, Size{701, 31}}) {
      const Pixels pixels(from, Arrangement::kInterleaved, random);
      for (const Size to : {Size{1, 1}, Size{64, 48}, Size{224, 224}, Size{31, 7}, Size{5, 400}}) {
        INFO(target << ", " << from.width << "x" << from.height << " to " << to.width << "x" << to.height);
        Frame frame(pixels.view);
        resize(frame, to, {Kind::kNearest, true}, scratch);
        const auto centre = [](int i, int input, int output) { return (2 * i + 1) * input / (2 * output); };
        bool same = true;
        for (int y = 0; y < to.height; ++y) {
          for (int x = 0; x < to.width; ++x) {
            for (int c = 0; c < kChannels; ++c) {
              same &= frame.pixels.at(x, y, c) ==
                      pixels.view.at(centre(x, from.width, to.width), centre(y, from.height, to.height), c);
            }
          }
        }
        REQUIRE(same);
      }
    }
  });
}

TEST_CASE("an unchanged axis combines with any filter of the other, on every instruction set") {
  testing::on_every_target([](const std::string& target) {
    Random random(10, 0, 0, 0);
    Scratch scratch;
    Image expected;
    const Pixels pixels({90, 70}, Arrangement::kInterleaved, random);
    for (const Resampling resampling : kAll) {
      for (const Size size : {Size{90, 33}, Size{90, 200}, Size{41, 70}, Size{333, 70}, Size{90, 70}}) {
        INFO(target << ", " << size.width << "x" << size.height);
        Frame frame(pixels.view);
        resize_reference(frame, size, resampling, expected);
        resize(frame, size, resampling, scratch);
        REQUIRE(same_pixels(frame, expected));
      }
    }
  });
}

TEST_CASE("resizing twice in a row alternates between the scratch images") {
  Random random(2, 0, 0, 0);
  const Pixels pixels({130, 97}, Arrangement::kPlanar, random);
  Frame frame(pixels.view);
  Image first, second;
  resize_reference(frame, {64, 70}, {}, first);
  resize_reference(Frame(first.view()), {91, 33}, {}, second);
  Scratch scratch;
  resize_bilinear(frame, {64, 70}, scratch);
  resize_bilinear(frame, {91, 33}, scratch);
  REQUIRE(same_pixels(frame, second));
}

TEST_CASE("resizing to the same size copies") {
  Random random(3, 0, 0, 0);
  const Pixels pixels({41, 29}, Arrangement::kInterleaved, random);
  Frame frame(pixels.view);
  Scratch scratch;
  resize_bilinear(frame, {41, 29}, scratch);
  for (int y = 0; y < 29; ++y) {
    for (int x = 0; x < 41; ++x) {
      for (int c = 0; c < kChannels; ++c) REQUIRE(frame.pixels.at(x, y, c) == pixels.view.at(x, y, c));
    }
  }
}

TEST_CASE("a flat image stays flat at any reduction") {
  for (const int side : {1, 2, 3, 50, 333, 3000}) {
    for (const int value : {0, 1, 127, 254, 255}) {
      Image flat({side, 40});
      std::fill_n(flat.data(), flat.bytes(), static_cast<std::uint8_t>(value));
      Frame frame(flat.view());
      Scratch scratch;
      resize(frame, {37, 11}, kAll[static_cast<std::size_t>(value + side) % std::size(kAll)], scratch);
      for (int y = 0; y < 11; ++y) {
        for (int x = 0; x < 37; ++x) REQUIRE(frame.pixels.at(x, y, 1) == value);
      }
    }
  }
}

// The reference in double: both passes without rounding.
TEST_CASE("a resize stays within one step of the exact triangle filter") {
  const auto exact_weight = [](int in, int out, int i, int x) {
    const double scale = static_cast<double>(in) / out, support = std::max(1.0, scale);
    const auto triangle = [&](int at) { return std::max(0.0, 1 - std::abs(at + 0.5 - (i + 0.5) * scale) / support); };
    double sum = 0;
    for (int at = 0; at < in; ++at) sum += triangle(at);
    return triangle(x) / sum;
  };
  Random random(4, 0, 0, 0);
  for (int trial = 0; trial < 20; ++trial) {
    const Size in{between(random, 1, 60), between(random, 1, 60)}, out{between(random, 1, 30), between(random, 1, 30)};
    const Pixels pixels(in, Arrangement::kInterleaved, random);
    Frame frame(pixels.view);
    Scratch scratch;
    resize_bilinear(frame, out, scratch);
    for (int y = 0; y < out.height; ++y) {
      for (int x = 0; x < out.width; ++x) {
        double sum = 0;
        for (int v = 0; v < in.height; ++v) {
          const double weight = exact_weight(in.height, out.height, y, v);
          if (weight == 0) continue;
          for (int u = 0; u < in.width; ++u) {
            sum += weight * exact_weight(in.width, out.width, x, u) * pixels.view.at(u, v, 2);
          }
        }
        // Half a step per rounding, plus the error of 16-bit weights.
        REQUIRE(std::abs(sum - frame.pixels.at(x, y, 2)) < 1.05);
      }
    }
  }
}

TEST_CASE("filter weights add up to one within their rounding") {
  for (const Resampling resampling : kAll) {
    for (const auto& [in, out] :
         {std::pair{1, 1}, {1, 224}, {100, 224}, {300, 224}, {500, 224}, {5000, 224}, {7, 1}, {3, 2}, {2, 3}}) {
      AxisFilter filter;
      filter.build(in, out, resampling);
      INFO(static_cast<int>(resampling.kind) << " " << resampling.antialias << " " << in << " to " << out);
      const int one = 1 << filter.fraction_bits();
      for (int i = 0; i < out; ++i) {
        int sum = 0;
        for (int k = 0; k < filter.taps(); ++k) {
          sum += filter.weights(i)[k];
          REQUIRE((filter.weights(i)[k] == 0 || filter.first(i) + k < in));
        }
        REQUIRE(std::abs(sum - one) <= filter.taps());
      }
    }
  }
}

// The weights per input sample; checks that kernels read within the input.
std::vector<std::vector<int>> weights_of(const AxisFilter& filter) {
  std::vector<std::vector<int>> all;
  for (int i = 0; i < filter.output(); ++i) {
    std::vector<int>& of = all.emplace_back(static_cast<std::size_t>(filter.input()), 0);
    REQUIRE(filter.first(i) >= (i == 0 ? 0 : filter.first(i - 1)));
    for (int k = 0; k < (filter.picks() ? 1 : filter.taps()); ++k) {
      const int weight = filter.weights(i)[k];
      if (weight != 0) of.at(static_cast<std::size_t>(filter.first(i) + k)) = weight;
    }
  }
  return all;
}

TEST_CASE("a reversed filter is the mirror image of the filter") {
  Random random(5, 0, 0, 0);
  for (int trial = 0; trial < 400; ++trial) {
    const Resampling resampling = kAll[random.below(std::size(kAll))];
    const int in = between(random, 1, 300), out = trial % 9 == 0 ? in : between(random, 1, 300);
    const int from = between(random, 0, out - 1), to = between(random, from + 1, out);
    INFO(static_cast<int>(resampling.kind)
         << " " << resampling.antialias << " " << in << " to " << from << ".." << to << " of " << out);
    AxisFilter near, far;
    near.build(in, out, resampling, {from, to});
    far.build(in, out, resampling, {from, to, true});
    REQUIRE(far.fraction_bits() == near.fraction_bits());
    REQUIRE(far.input() == near.input());
    REQUIRE(far.picks() == near.picks());
    auto expected = weights_of(near);
    std::reverse(expected.begin(), expected.end());
    for (std::vector<int>& of : expected) std::reverse(of.begin(), of.end());
    REQUIRE(weights_of(far) == expected);
    far.build(in, out, resampling, {from, to});
    REQUIRE(weights_of(far) == weights_of(near));
  }
}

TEST_CASE("a filter is rebuilt for the same sizes and another interpolation") {
  AxisFilter filter;
  filter.build(100, 50);
  REQUIRE(filter.taps() == 4);
  filter.build(100, 50, {Kind::kNearest, true});
  REQUIRE(filter.weights(7)[0] == 1 << filter.fraction_bits());
  filter.build(100, 50, {Kind::kBicubic, true});
  REQUIRE(filter.weights(20)[0] < 0);
}

// Values beyond 0..255 are clipped on both sides and in both passes.
TEST_CASE("a bicubic filter overshoots at an edge and is clipped") {
  Image edge({64, 64});
  for (int y = 0; y < 64; ++y)
    for (int x = 0; x < 64 * kChannels; ++x) edge.row(y)[x] = (x / kChannels < 32) == (y < 32) ? 250 : 5;
  for (const bool antialias : {true, false}) {
    Frame frame(edge.view());
    Scratch scratch;
    resize(frame, {200, 200}, {Kind::kBicubic, antialias}, scratch);
    int least = 255, most = 0;
    for (int y = 0; y < 200; ++y) {
      for (int x = 0; x < 200; ++x) {
        least = std::min<int>(least, frame.pixels.at(x, y, 0));
        most = std::max<int>(most, frame.pixels.at(x, y, 0));
      }
    }
    REQUIRE(least == 0);
    REQUIRE(most == 255);
    REQUIRE(frame.pixels.at(50, 50, 1) == 250);
    REQUIRE(frame.pixels.at(50, 150, 1) == 5);
  }
}

}  // namespace
}  // namespace unstarve
