#include "unstarve/ops/operations.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/window.h"
#include "unstarve/ops/test_support.h"

namespace unstarve {
namespace {

using testing::defaults;

using Catch::Matchers::Contains;
using testing::Arrangement;
using testing::Pixels;

Random stream(std::uint64_t sample) { return Random(11, 2, sample, 3); }

Frame run(const Operation& operation, Frame frame, Random random, Scratch& scratch) {
  frame.crop(operation.select(frame.size(), random));
  operation.apply(frame, random, scratch);
  return frame;
}

TEST_CASE("every operation outputs the size that it reports for the part it selects") {
  Random made_up(1, 0, 0, 0);
  for (const OperationInfo& info : operations()) {
    INFO(info.name);
    const auto operation = make_operation(defaults(info.name));
    for (const Size size : {Size{1, 1}, {1, 50}, {50, 1}, {23, 25}, {24, 24}, {60, 40}, {300, 200}}) {
      const Pixels pixels(size, Arrangement::kInterleaved, made_up);
      for (std::uint64_t sample = 0; sample < 20; ++sample) {
        Scratch scratch;
        Random random = stream(sample);
        const Rect part = operation->select(size, random);
        REQUIRE(part.x >= 0);
        REQUIRE(part.y >= 0);
        REQUIRE(part.width >= 1);
        REQUIRE(part.height >= 1);
        REQUIRE(part.x + part.width <= size.width);
        REQUIRE(part.y + part.height <= size.height);
        const Frame out = run(*operation, Frame(pixels.view), stream(sample), scratch);
        REQUIRE(out.size() == operation->output_size(part.size()));
        if (operation->fixed_output()) REQUIRE(out.size() == Size{24, 24});
      }
    }
  }
}

TEST_CASE("an operation gives the same pixels from the selected part as from the whole image") {
  Random made_up(2, 0, 0, 0);
  const Pixels pixels({90, 70}, Arrangement::kInterleaved, made_up);
  for (const OperationInfo& info : operations()) {
    INFO(info.name);
    const auto operation = make_operation(defaults(info.name));
    for (std::uint64_t sample = 0; sample < 30; ++sample) {
      Scratch one, two;
      const Frame whole = run(*operation, Frame(pixels.view), stream(sample), one);
      // As with a decoder: select() with the size from the header, that part in an image of its own, then apply().
      Random random = stream(sample);
      const Rect part = operation->select(pixels.view.size(), random);
      Frame window(pixels.view);
      window.crop(part);
      Image decoded(part.size());
      copy_window(window, 0, part.height, {decoded.data(), static_cast<std::ptrdiff_t>(decoded.row_bytes()), 1});
      Frame alone(decoded.view());
      operation->apply(alone, random, two);
      REQUIRE(alone.size() == whole.size());
      for (int y = 0; y < whole.height; ++y) {
        for (int x = 0; x < whole.width; ++x) REQUIRE(window_value(alone, x, y, 1) == window_value(whole, x, y, 1));
      }
    }
  }
}

TEST_CASE("pixels cut off by one operation do not reappear in the border of the next") {
  Random made_up(3, 0, 0, 0);
  const Pixels pixels({40, 30}, Arrangement::kInterleaved, made_up);
  const auto cut = make_operation({"center_crop", {{"size", {10}}}});
  const auto pad = make_operation({"pad_crop", {{"size", {16}}, {"padding", {3}}}});
  Scratch scratch;
  Frame frame = run(*cut, Frame(pixels.view), stream(0), scratch);
  frame = run(*pad, frame, stream(1), scratch);
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 16; ++x) {
      const bool border = x < 3 || y < 3 || x >= 13 || y >= 13;
      const int expected = border ? 0 : pixels.view.at(15 + x - 3, 10 + y - 3, 1);
      REQUIRE(window_value(frame, x, y, 1) == expected);
    }
  }
}

TEST_CASE("random_resized_crop draws areas and aspect ratios from its ranges") {
  const auto crop = make_operation({"random_resized_crop", {{"size", {8}}}});
  const Size image{1000, 1000};
  constexpr int kDraws = 20'000;
  std::vector<double> areas, log_ratios;
  int at_left = 0;
  for (std::uint64_t sample = 0; sample < kDraws; ++sample) {
    Random random = stream(sample);
    const Rect part = crop->select(image, random);
    areas.push_back(part.width * static_cast<double>(part.height) / 1e6);
    log_ratios.push_back(std::log(static_cast<double>(part.width) / part.height));
    if (part.x < (image.width - part.width) / 2) ++at_left;
  }
  const double log_high = std::log(4.0 / 3.0);
  REQUIRE(*std::min_element(areas.begin(), areas.end()) > 0.079);
  REQUIRE(*std::max_element(areas.begin(), areas.end()) <= 1.0);
  REQUIRE(*std::max_element(log_ratios.begin(), log_ratios.end()) < log_high + 0.01);
  REQUIRE(*std::min_element(log_ratios.begin(), log_ratios.end()) > -log_high - 0.01);
  // A trial fails only where a side would exceed the image: for areas below 3/4 never. There the areas are uniform and
  // the logarithms of the ratio too: the largest deviation of the empirical distribution stays below 1.63 / sqrt(n)
  // with probability 0.99 (Kolmogorov).
  std::vector<double> free_areas, free_ratios;
  for (std::size_t i = 0; i < areas.size(); ++i) {
    if (areas[i] >= 0.74) continue;
    free_areas.push_back((areas[i] - 0.08) / (0.74 - 0.08));
    free_ratios.push_back((log_ratios[i] + log_high) / (2 * log_high));
  }
  for (std::vector<double>* values : {&free_areas, &free_ratios}) {
    std::sort(values->begin(), values->end());
    const auto n = static_cast<double>(values->size());
    double deviation = 0;
    for (std::size_t i = 0; i < values->size(); ++i) {
      deviation = std::max(deviation, std::abs((*values)[i] - (static_cast<double>(i) + 0.5) / n));
    }
    // Sides are whole pixels, which moves a value by up to 1 / 280 of itself.
    REQUIRE(deviation < 1.63 / std::sqrt(n) + 0.002);
  }
  REQUIRE(std::abs(at_left - kDraws / 2) < 4 * std::sqrt(kDraws / 4.0) + kDraws * 0.01);
}

TEST_CASE("random_resized_crop falls back to the largest central part of an allowed ratio") {
  const auto crop = make_operation({"random_resized_crop", {{"size", {8}}, {"scale", {1, 1}}}});
  Random random = stream(1);
  REQUIRE(crop->select({1000, 100}, random) == Rect{433, 0, 133, 100});
  REQUIRE(crop->select({100, 1000}, random) == Rect{0, 433, 100, 133});
  REQUIRE(crop->select({1, 1000}, random) == Rect{0, 499, 1, 1});
}

TEST_CASE("pad_crop reaches every position in the padded image, and no other") {
  const auto crop = make_operation({"pad_crop", {{"size", {32}}}});
  Image image({32, 32});
  Scratch scratch;
  std::set<std::pair<int, int>> positions;
  for (std::uint64_t sample = 0; sample < 3000; ++sample) {
    const Frame frame = run(*crop, Frame(image.view()), stream(sample), scratch);
    REQUIRE((std::abs(frame.left) <= 4 && std::abs(frame.top) <= 4));
    positions.insert({frame.left, frame.top});
  }
  REQUIRE(positions.size() == 81);
}

TEST_CASE("horizontal_flip mirrors with the probability given") {
  Image image({3, 1});
  Scratch scratch;
  for (const double probability : {0.0, 0.25, 0.5, 1.0}) {
    const auto flip = make_operation({"horizontal_flip", {{"probability", {probability}}}});
    int mirrored = 0;
    for (std::uint64_t sample = 0; sample < 4000; ++sample) {
      mirrored += run(*flip, Frame(image.view()), stream(sample), scratch).mirrored ? 1 : 0;
    }
    // Five standard deviations.
    REQUIRE(std::abs(mirrored - 4000 * probability) <= 5 * std::sqrt(4000 * probability * (1 - probability)));
  }
}

TEST_CASE("alternating_flip mirrors half of the images, and in the next epoch exactly the others") {
  const auto flip = make_operation({"alternating_flip", {}});
  Image image({3, 1});
  Scratch scratch;
  int mirrored = 0;
  for (std::uint64_t sample = 0; sample < 4000; ++sample) {
    const auto mirrors = [&](std::uint32_t draw) {
      return run(*flip, Frame(image.view()), Random(11, draw, sample, 3), scratch).mirrored;
    };
    const bool first = mirrors(0);
    mirrored += first ? 1 : 0;
    for (std::uint32_t draw = 1; draw < 6; ++draw) REQUIRE(mirrors(draw) == (draw % 2 == 0 ? first : !first));
  }
  REQUIRE(std::abs(mirrored - 2000) <= 5 * std::sqrt(1000));
}

TEST_CASE("a crop after a flip is the crop of the flipped image") {
  Random made_up(3, 0, 0, 0);
  const Pixels pixels({20, 10}, Arrangement::kInterleaved, made_up);
  Frame frame(pixels.view);
  frame.mirror();
  frame.crop({3, 1, 5, 4});
  for (int x = 0; x < 5; ++x) REQUIRE(window_value(frame, x, 0, 0) == pixels.view.at(20 - 1 - (x + 3), 1, 0));
}

TEST_CASE("a resize that would enlarge a thin image beyond the pixel limit is rejected") {
  const auto resize = make_operation({"resize", {{"size", {256}}}});
  REQUIRE(resize->output_size({100, 1000}) == Size{256, 2560});
  REQUIRE_THROWS_WITH(resize->output_size({1, 60'000}), Contains("1x60000 would become 15360000x256"));
}

TEST_CASE("a resize with max_size rounds both sides as torchvision does, to at least one pixel") {
  const auto bounded = [](double size, double most, Size image) {
    return make_operation({"resize", {{"size", {size}}, {"max_size", {most}}}})->output_size(image);
  };
  CHECK(bounded(800, 1333, {640, 480}) == Size{1066, 800});
  CHECK(bounded(800, 1333, {1920, 1080}) == Size{1333, 749});  // of 1422 x 800
  CHECK(bounded(800, 1333, {1080, 1920}) == Size{749, 1333});
  CHECK(bounded(7, 11, {53, 29}) == Size{11, 6});  // of 12 x 7; 53 x 29 itself would give the same
  CHECK(bounded(3, 4, {100, 60}) == Size{4, 2});   // of 5 x 3
  CHECK(bounded(256, 257, {100, 100}) == Size{256, 256});
  CHECK(bounded(256, 400, {60'000, 1}) == Size{400, 1});
}

TEST_CASE("invalid operations and parameters are rejected with the expected values") {
  const auto rejected = [](const OpSpec& spec, const std::string& said) {
    INFO(said);
    REQUIRE_THROWS_WITH(make_operation(spec), Contains(said));
    try {
      (void)make_operation(spec);
    } catch (const Error& error) {
      REQUIRE(error.kind() == ErrorKind::kArgument);
    }
  };
  rejected({"random_crop", {}}, "unknown operation 'random_crop'; known: random_resized_crop, resize, center_crop");
  rejected({"resize", {}}, "operation resize: parameter 'size' is missing");
  rejected({"resize", {{"size", {0}}}}, "parameter 'size' is [0]; expected one side, or height and width, from 1");
  rejected({"resize", {{"size", {1.5}}}}, "[1.5]");
  rejected({"resize", {{"size", {1, 2, 3}}}}, "[1, 2, 3]");
  rejected({"resize", {{"size", {}}}}, "[]");
  rejected({"resize", {{"size", {std::nan("")}}}}, "[nan]");
  rejected({"resize", {{"size", {8}}, {"sise", {8}}}}, "unknown parameter 'sise'; it takes: size");
  rejected({"random_resized_crop", {{"size", {8}}, {"scale", {0.5, 0.1}}}}, "two numbers, the first not above");
  rejected({"random_resized_crop", {{"size", {8}}, {"scale", {0, 1}}}}, "over 0 and up to 1");
  rejected({"random_resized_crop", {{"size", {8}}, {"ratio", {1}}}}, "parameter 'ratio' is [1]");
  rejected({"resize", {{"size", {"wide"}}}}, "parameter 'size' is \"wide\"; expected one side");
  rejected({"resize", {{"size", {8}}, {"interpolation", {"cubic"}}}},
           "parameter 'interpolation' is \"cubic\"; expected one of nearest, bilinear, bicubic, box, area, lanczos");
  rejected({"resize", {{"size", {8}}, {"interpolation", {2}}}}, "parameter 'interpolation' is [2]; expected one of");
  rejected({"resize", {{"size", {8}}, {"antialias", {"no"}}}},
           "parameter 'antialias' is \"no\"; expected true or false");
  rejected({"pad_crop", {{"size", {8}}, {"padding", {-1}}}}, "expected 1 or 2 or 4 integers from 0 to 10000");
  rejected({"horizontal_flip", {{"probability", {1.1}}}}, "a number from 0 to 1");
  rejected({"resize", {{"size", {8}}, {"max_size", {8}}}}, "'max_size' is [8]; expected more than size, which is 8");
  rejected({"resize", {{"size", {8, 8}}, {"max_size", {9}}}}, "'max_size' is [9]; expected none, as size is a height");
  rejected({"rand_augment", {{"magnitude", {10}}, {"num_magnitude_bins", {10}}}},
           "parameter 'magnitude' is [10]; expected 0 to 9, as num_magnitude_bins is 10");
  rejected({"trivial_augment", {{"num_magnitude_bins", {1}}}}, "expected an integer from 2 to 1000");
  rejected({"mixup", {}}, "'mixup' is an operation on batches; expected an operation on images. Use batch_operations");
}

}  // namespace
}  // namespace unstarve
