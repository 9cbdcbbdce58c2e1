#include "unstarve/ops/strength.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

namespace unstarve {
namespace {

enum class Rule {
  kTimes,       // s v
  kWhole,       // s v, rounded
  kPositive,    // s v, rounded, at least 1
  kAboutOne,    // 1 + s (v - 1)
  kPower,       // v^s
  kFromLargest  // (1 - s) high + s v, where high is the last value
};

struct Scaled {
  std::string_view operation, parameter;
  Rule rule;
  std::array<double, 2> fallback;  // the default of the operation; strength_test.cpp compares them
  std::size_t count = 1;           // of its numbers
};

constexpr auto kScaled = std::to_array<Scaled>({
    {"random_resized_crop", "scale", Rule::kFromLargest, {0.08, 1}, 2},
    {"random_resized_crop", "ratio", Rule::kPower, {3.0 / 4.0, 4.0 / 3.0}, 2},
    {"pad_crop", "padding", Rule::kWhole, {4}},
    {"brightness", "factor", Rule::kAboutOne, {0.6, 1.4}, 2},
    {"contrast", "factor", Rule::kAboutOne, {0.6, 1.4}, 2},
    {"saturation", "factor", Rule::kAboutOne, {0.6, 1.4}, 2},
    {"sharpness", "factor", Rule::kAboutOne, {0.6, 1.4}, 2},
    {"hue", "shift", Rule::kTimes, {-0.1, 0.1}, 2},
    {"color_jitter", "brightness", Rule::kTimes, {0.4}},
    {"color_jitter", "contrast", Rule::kTimes, {0.4}},
    {"color_jitter", "saturation", Rule::kTimes, {0.4}},
    {"color_jitter", "hue", Rule::kTimes, {0.1}},
    {"lighting", "std", Rule::kTimes, {0.1}},
    {"rotation", "degrees", Rule::kTimes, {-30, 30}, 2},
    {"affine", "degrees", Rule::kTimes, {-15, 15}, 2},
    {"affine", "translate_x", Rule::kTimes, {0.1}},
    {"affine", "translate_y", Rule::kTimes, {0.1}},
    {"affine", "scale", Rule::kAboutOne, {0.9, 1.1}, 2},
    {"affine", "shear_x", Rule::kTimes, {0, 0}, 2},
    {"affine", "shear_y", Rule::kTimes, {0, 0}, 2},
    {"perspective", "distortion", Rule::kTimes, {0.5}},
    {"rand_augment", "magnitude", Rule::kWhole, {9}},
    {"aug_mix", "severity", Rule::kPositive, {3}},
    {"grayscale", "probability", Rule::kTimes, {0.1}},
    {"posterize", "probability", Rule::kTimes, {0.5}},
    {"solarize", "probability", Rule::kTimes, {0.5}},
    {"invert", "probability", Rule::kTimes, {0.5}},
    {"auto_contrast", "probability", Rule::kTimes, {0.5}},
    {"equalize", "probability", Rule::kTimes, {0.5}},
    {"random_channel_permutation", "probability", Rule::kTimes, {1}},
    {"erasing", "probability", Rule::kTimes, {0.5}},
    {"cutout", "probability", Rule::kTimes, {1}},
    {"gaussian_blur", "probability", Rule::kTimes, {0.5}},
    {"mixup", "probability", Rule::kTimes, {1}},
    {"cutmix", "probability", Rule::kTimes, {1}},
});

// `high`: the last of the numbers of the parameter.
double scaled(Rule rule, double value, double high, double strength) {
  switch (rule) {
    case Rule::kTimes: return strength * value;
    case Rule::kWhole: return std::round(strength * value);
    case Rule::kPositive: return std::max(1.0, std::round(strength * value));
    case Rule::kAboutOne: return 1 + strength * (value - 1);
    case Rule::kPower: return std::pow(value, strength);
    case Rule::kFromLargest: return high + strength * (value - high);
  }
  return value;
}

}  // namespace

OpSpec at_strength(const OpSpec& spec, double strength) {
  OpSpec result = spec;
  for (const Scaled& s : kScaled) {
    if (s.operation != spec.name) continue;
    OpValue& value = result.params[std::string(s.parameter)];
    if (value.numbers.empty() && value.word.empty())
      value.numbers.assign(s.fallback.begin(), s.fallback.begin() + static_cast<std::ptrdiff_t>(s.count));
    if (strength == 1 || value.numbers.empty()) continue;  // bits of the specified value
    const double high = value.numbers.back();
    for (double& number : value.numbers) number = scaled(s.rule, number, high, strength);
  }
  return result;
}

}  // namespace unstarve
