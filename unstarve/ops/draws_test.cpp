// Probabilities and amounts are drawn as the parameters specify: with the right frequency, uniformly, up to both ends.
//
// Amounts are read from a Recording of the operation, which contains them exactly; pixels show them only rounded.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "unstarve/ops/base/point_pixel.h"
#include "unstarve/ops/gpu/program_recorder.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/testing/draws.h"

namespace unstarve {
namespace {

using testing::Arrangement;
using testing::as_often;
using testing::defaults;
using testing::made_of;
using testing::noise;
using testing::Pixels;
using testing::shown;

TEST_CASE("every operation with a probability changes that part of the samples", "[ops]") {
  const Pixels pixels = noise({24, 20});
  const std::string before = shown(Frame(pixels.view));
  int seen = 0;
  for (const OperationInfo& info : operations()) {
    OpSpec spec = defaults(info.name);
    bool has_probability = false;
    for (const ParameterInfo& parameter : parameters_of(info.name)) {
      // All other parameters at their strongest, so that every change is visible.
      if (parameter.name == "probability") {
        has_probability = true;
      } else if (const auto* number = std::get_if<ParameterInfo::Number>(&parameter.kind)) {
        spec.params[parameter.name] = {number->high};
      } else if (const auto* interval = std::get_if<ParameterInfo::Interval>(&parameter.kind)) {
        spec.params[parameter.name] = {interval->fallback.second};
      }
    }
    if (!has_probability) continue;
    ++seen;
    for (const double probability : {0.0, 0.25, 1.0}) {
      INFO(info.name << " of probability " << probability);
      spec.params["probability"] = {probability};
      const auto operation = make_operation(spec);
      Scratch scratch;
      constexpr std::size_t kSamples = 1000;
      std::size_t changed = 0;
      for (std::uint64_t sample = 0; sample < kSamples; ++sample)
        changed += made_of(*operation, pixels.view, sample, scratch) != before ? 1 : 0;
      // One of the six orders of the channels changes nothing.
      const double visible = info.name == "random_channel_permutation" ? 5.0 / 6 : 1;
      CHECK(as_often(changed, kSamples, probability * visible));
    }
  }
  CHECK(seen >= 20);
}

// A uniform distribution: Kolmogorov's statistic is below 1.95 / sqrt(n) with probability 0.999, and both ends are
// reached to 1/100 and not exceeded.
void check_even(std::vector<double> values, double low, double high) {
  REQUIRE(values.size() > 1000);
  std::sort(values.begin(), values.end());
  const double slack = 1e-3 * (high - low);  // rounding of amounts to 16 bits
  CHECK(values.front() >= low - slack);
  CHECK(values.back() <= high + slack);
  CHECK(values.front() <= low + 0.01 * (high - low));
  CHECK(values.back() >= high - 0.01 * (high - low));
  const auto n = static_cast<double>(values.size());
  double deviation = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double part = (values[i] - low) / (high - low);
    deviation = std::max(deviation, std::abs(part - (static_cast<double>(i) + 0.5) / n));
  }
  CHECK(deviation < 1.95 / std::sqrt(n) + 1e-3);
}

// The amount by which one sample is changed.
using Amount = std::function<double(const Recording&)>;

const gpu::Layer& last_of(const Recording& all, gpu::LayerKind kind) {
  const auto found =
      std::find_if(all.layers.rbegin(), all.layers.rend(), [&](const auto& l) { return l.kind == kind; });
  REQUIRE(found != all.layers.rend());
  return *found;
}

double in_65536(std::int32_t weight) { return weight / 65536.0; }

// The factor of a table that blends with black: 100 is not clipped below factors of 2.5.
double of_table(const Recording& all) { return all.tables.at(0)[0][100] / 100.0; }

double of_point(const Recording& all, gpu::PointKind kind) {
  for (const gpu::PointStep& step : all.points)
    if (step.kind == kind) return step.value;
  FAIL("no such step");
  return 0;
}

double of_hue(const Recording& all) {
  const double shift = of_point(all, gpu::PointKind::kHue) / point::kCircle;
  return shift > 0.5 ? shift - 1 : shift;
}

double of_contrast(const Recording& all) {
  for (const gpu::Command& command : all.commands)
    if (command.kind == gpu::CommandKind::kContrast) return in_65536(command.weight);
  FAIL("no contrast");
  return 0;
}

double of_saturation(const Recording& all) {
  return in_65536(static_cast<std::int32_t>(of_point(all, gpu::PointKind::kBlendGrey)));
}
double of_sharpness(const Recording& all) { return in_65536(last_of(all, gpu::LayerKind::kSharpen).value); }
double of_blur(const Recording& all) {
  return std::sqrt(-0.5 / std::log(static_cast<double>(all.blur_weights.at(1)) / all.blur_weights.at(0)));
}

const Mapping& mapping_of(const Recording& all) { return last_of(all, gpu::LayerKind::kWarp).mapping; }
double degrees(double radians) { return radians * 180 / std::numbers::pi; }
constexpr Size kSize{2000, 1000};

// The inverse of a clockwise rotation by t has a = cos t, b = sin t.
double of_clockwise(const Recording& all) { return degrees(std::atan2(mapping_of(all).b, mapping_of(all).a)); }

// How far the corner (x, y), each 0 or 1, has moved inwards, in parts of half a side.
std::array<double, 2> corner_of(const Recording& all, int x, int y) {
  const Mapping& m = mapping_of(all);
  // Solves (a - g u) x + (b - h u) y = u - c, and the same for v.
  const double u = x * kSize.width, v = y * kSize.height;
  const double xx = m.a - m.g * u, xy = m.b - m.h * u, yx = m.d - m.g * v, yy = m.e - m.h * v;
  const double right = u - m.c, below = v - m.f, determinant = xx * yy - xy * yx;
  const double to_x = (right * yy - xy * below) / determinant, to_y = (xx * below - right * yx) / determinant;
  return {std::abs(to_x - u) / (kSize.width / 2.0), std::abs(to_y - v) / (kSize.height / 2.0)};
}

struct Drawn {
  const char* operation;
  const char* parameter;
  OpParams others;  // other parameters, so that the amount is visible
  double low, high;
  Amount amount;
  double given_low, given_high;  // the parameter that gives amounts from low to high; a number has only one value
};

struct Range {
  double low, high;
};

Drawn interval(const char* operation, const char* parameter, Range range, Amount amount, OpParams others = {}) {
  return {operation, parameter, std::move(others), range.low, range.high, std::move(amount), range.low, range.high};
}

std::vector<Drawn> all_drawn() {
  std::vector<Drawn> list = {
      interval("brightness", "factor", {0.6, 1.4}, of_table),
      interval("contrast", "factor", {0.6, 1.4}, of_contrast),
      interval("saturation", "factor", {0.6, 1.4}, of_saturation),
      interval("sharpness", "factor", {0.6, 1.4}, of_sharpness),
      interval("hue", "shift", {-0.1, 0.1}, of_hue),
      interval("gaussian_blur", "sigma", {0.6, 2}, of_blur, {{"probability", {1}}}),
      interval("rotation", "degrees", {-30, 30}, [](const Recording& all) { return -of_clockwise(all); }),
  };
  // Ranges that differ from the defaults.
  const std::vector<Drawn> others = {
      interval("brightness", "factor", {0.1, 2}, of_table),
      interval("contrast", "factor", {0, 3}, of_contrast),
      interval("saturation", "factor", {1, 5}, of_saturation),
      interval("sharpness", "factor", {2, 3}, of_sharpness),
      interval("hue", "shift", {0.1, 0.4}, of_hue),
      interval("rotation", "degrees", {10, 170}, [](const Recording& all) { return -of_clockwise(all); }),
  };
  list.insert(list.end(), others.begin(), others.end());

  const OpParams still = {{"degrees", {0}}, {"translate_x", {0}}, {"translate_y", {0}}, {"scale", {1}}};
  const auto affine = [&](const char* parameter, double low, double high, Amount amount) {
    Drawn drawn = interval("affine", parameter, {low, high}, std::move(amount), still);
    drawn.others.erase(parameter);
    return drawn;
  };
  list.push_back(affine("degrees", -15, 15, of_clockwise));
  list.push_back(affine("scale", 0.9, 1.1, [](const Recording& all) { return 1 / mapping_of(all).a; }));
  list.push_back(affine("scale", 2, 3, [](const Recording& all) { return 1 / mapping_of(all).e; }));
  list.push_back(
      affine("shear_x", -20, 10, [](const Recording& all) { return degrees(std::atan(mapping_of(all).b)); }));
  list.push_back(
      affine("shear_y", -20, 10, [](const Recording& all) { return degrees(std::atan(mapping_of(all).d)); }));
  const auto moved = [&](const char* parameter, double most, Amount amount) {
    Drawn drawn = affine(parameter, -most, most, std::move(amount));
    drawn.given_low = drawn.given_high = most;
    return drawn;
  };
  list.push_back(moved("translate_x", 0.3, [](const Recording& all) { return -mapping_of(all).c / kSize.width; }));
  list.push_back(moved("translate_y", 0.8, [](const Recording& all) { return -mapping_of(all).f / kSize.height; }));

  for (const double distortion : {0.5, 0.9}) {
    for (int corner = 0; corner < 8; ++corner) {
      const auto amount = [corner](const Recording& all) {
        return corner_of(all, corner & 1, corner >> 1 & 1)[corner >> 2 & 1];
      };
      list.push_back(
          {"perspective", "distortion", {{"probability", {1}}}, 0, distortion, amount, distortion, distortion});
    }
  }

  const OpParams none = {{"brightness", {0}}, {"contrast", {0}}, {"saturation", {0}}, {"hue", {0}}};
  const auto jitter = [&](const char* parameter, double given, double low, double high, Amount amount) {
    Drawn drawn{"color_jitter", parameter, none, low, high, std::move(amount), given, given};
    drawn.others.erase(parameter);
    return drawn;
  };
  list.push_back(jitter("brightness", 0.4, 0.6, 1.4, of_table));
  list.push_back(jitter("contrast", 0.4, 0.6, 1.4, of_contrast));
  list.push_back(jitter("contrast", 1.5, 0, 2.5, of_contrast));
  list.push_back(jitter("saturation", 0.7, 0.3, 1.7, of_saturation));
  list.push_back(jitter("hue", 0.1, -0.1, 0.1, of_hue));

  // These rectangles are smaller than the image, so that no trial fails.
  const OpParams often = {{"probability", {1}}};
  const auto rect = [](const Recording& all) { return last_of(all, gpu::LayerKind::kCover).rect; };
  list.push_back(interval("erasing", "scale", {0.02, 0.25},
                          [=](const Recording& all) {
                            return static_cast<double>(rect(all).width) * rect(all).height /
                                   (kSize.width * kSize.height);
                          },
                          {{"probability", {1}}, {"ratio", {1, 2}}}));
  list.push_back(interval("erasing", "ratio", {0.5, 3},
                          [=](const Recording& all) { return static_cast<double>(rect(all).height) / rect(all).width; },
                          {{"probability", {1}}, {"scale", {0.1, 0.15}}}));
  list.push_back(
      {"erasing", "position", often, 0, 1,
       [=](const Recording& all) { return rect(all).x / static_cast<double>(kSize.width - rect(all).width); }, 0, 0});
  list.push_back(
      {"erasing", "position", often, 0, 1,
       [=](const Recording& all) { return rect(all).y / static_cast<double>(kSize.height - rect(all).height); }, 0, 0});
  return list;
}

TEST_CASE("an operation gives different pixels for different samples if and only if it reports to be random", "[ops]") {
  // A cache of pixels relies on it (pipeline/plan/pixel_cache_file.h).
  const Pixels pixels = noise({24, 20});
  std::set<std::string_view> fixed;
  for (const OperationInfo& info : operations()) {
    std::vector<OpSpec> specs{defaults(info.name)};
    if (std::ranges::any_of(parameters_of(info.name), [](const auto& p) { return p.name == "probability"; })) {
      for (const double probability : {0.0, 0.5, 1.0}) {
        specs.push_back(defaults(info.name));
        specs.back().params["probability"] = {probability};
      }
    }
    for (const OpSpec& spec : specs) {
      INFO(spec.name << ' ' << to_text(spec.params));
      const auto operation = make_operation(spec);
      Scratch scratch;
      std::set<std::string> outputs;
      for (std::uint64_t sample = 0; sample < 200; ++sample)
        outputs.insert(made_of(*operation, pixels.view, sample, scratch));
      CHECK((outputs.size() > 1) == operation->random());
      if (!operation->random()) fixed.insert(info.name);
    }
  }
  for (const char* name : {"horizontal_flip", "vertical_flip", "brightness", "equalize", "cutout", "center_crop"})
    CHECK(fixed.contains(name));
}

TEST_CASE("every amount is uniform in its range and reaches both ends", "[ops]") {
  std::set<std::pair<std::string, std::string>> tested;
  Scratch scratch;
  ProgramRecorder recorder;
  scratch.record_with(&recorder);
  for (const Drawn& drawn : all_drawn()) {
    INFO(drawn.operation << " " << drawn.parameter << " " << drawn.low << " to " << drawn.high);
    tested.insert({drawn.operation, drawn.parameter});
    OpSpec spec{drawn.operation, drawn.others};
    if (drawn.given_low < drawn.given_high)
      spec.params[drawn.parameter] = {drawn.given_low, drawn.given_high};
    else if (drawn.given_high > 0)
      spec.params[drawn.parameter] = {drawn.given_high};
    const auto operation = make_operation(spec);
    std::vector<double> amounts;
    for (std::uint64_t sample = 0; sample < 3000; ++sample) {
      recorder.clear();
      Frame frame = recorder.begin(SourceImage::interleaved(0, kSize));
      Random random(17, 2, sample, 3);
      operation->apply(frame, random, scratch);
      recorder.finish(frame);
      amounts.push_back(drawn.amount(recorder.recording()));
    }
    // Logarithms of ratios are uniform: a ratio is as likely as its inverse.
    const bool ratio = std::string(drawn.parameter) == "ratio";
    if (ratio)
      for (double& amount : amounts) amount = std::log(amount);
    // A table shows its factor in 1/100, truncated.
    const bool table = recorder.recording().tables.size() == 1;
    if (table)
      for (double& amount : amounts) amount += 0.005;
    check_even(amounts, ratio ? std::log(drawn.low) : drawn.low, ratio ? std::log(drawn.high) : drawn.high);
  }
  // Every range of the library except those of crops, which have their own tests.
  for (const OperationInfo& info : operations()) {
    for (const ParameterInfo& parameter : parameters_of(info.name)) {
      const bool range = std::holds_alternative<ParameterInfo::Interval>(parameter.kind) ||
                         std::holds_alternative<ParameterInfo::Range>(parameter.kind);
      INFO(info.name << " " << parameter.name);
      if (range && info.name != "random_resized_crop") CHECK(tested.contains({std::string(info.name), parameter.name}));
    }
  }
}

TEST_CASE("erasing draws every position of its rectangle equally often", "[ops]") {
  const auto operation =
      make_operation({"erasing", {{"probability", {1}}, {"scale", {0.25, 0.25}}, {"ratio", {1, 1}}}});
  Scratch scratch;
  ProgramRecorder recorder;
  scratch.record_with(&recorder);
  std::map<std::pair<int, int>, std::size_t> positions;
  constexpr std::size_t kSamples = 4000;
  for (std::uint64_t sample = 0; sample < kSamples; ++sample) {
    recorder.clear();
    Frame frame = recorder.begin(SourceImage::interleaved(0, {8, 6}));
    Random random(17, 2, sample, 3);
    operation->apply(frame, random, scratch);
    recorder.finish(frame);
    const Rect rect = last_of(recorder.recording(), gpu::LayerKind::kCover).rect;
    REQUIRE(rect.width == 3);
    REQUIRE(rect.height == 3);
    ++positions[{rect.x, rect.y}];
  }
  CHECK(positions.size() == 6 * 4);
  for (const auto& [position, times] : positions) {
    CHECK(as_often(times, kSamples, 1.0 / 24));
    CHECK(position.first <= 5);
    CHECK(position.second <= 3);
  }
}

TEST_CASE("color_jitter applies its four changes in every order equally often", "[ops]") {
  Scratch scratch;
  ProgramRecorder recorder;
  scratch.record_with(&recorder);
  const auto operation = make_operation(defaults("color_jitter"));
  std::map<std::vector<gpu::PointKind>, std::size_t> orders;
  constexpr std::size_t kSamples = 6000;
  for (std::uint64_t sample = 0; sample < kSamples; ++sample) {
    recorder.clear();
    Frame frame = recorder.begin(SourceImage::interleaved(0, {8, 8}));
    Random random(17, 2, sample, 3);
    operation->apply(frame, random, scratch);
    recorder.finish(frame);
    std::vector<gpu::PointKind> order;
    for (const gpu::PointStep& step : recorder.recording().points) order.push_back(step.kind);
    ++orders[order];
  }
  CHECK(orders.size() == 24);
  for (const auto& [order, times] : orders) CHECK(as_often(times, kSamples, 1.0 / 24));
}

TEST_CASE("random_channel_permutation draws every order of the channels equally often", "[ops]") {
  const auto operation = make_operation(defaults("random_channel_permutation"));
  const Pixels pixels = noise({1, 1});
  Scratch scratch;
  std::map<std::string, std::size_t> outputs;
  constexpr std::size_t kSamples = 6000;
  for (std::uint64_t sample = 0; sample < kSamples; ++sample)
    ++outputs[made_of(*operation, pixels.view, sample, scratch)];
  CHECK(outputs.size() == 6);
  for (const auto& [output, times] : outputs) CHECK(as_often(times, kSamples, 1.0 / 6));
}

}  // namespace
}  // namespace unstarve
