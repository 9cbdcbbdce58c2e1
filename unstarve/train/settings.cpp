#include "unstarve/train/settings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/train/trainer.h"

namespace unstarve {
namespace {

constexpr std::array<std::pair<Precision, const char*>, 3> kPrecisions{
    {{Precision::kFloat32, "float32"}, {Precision::kBfloat16, "bfloat16"}, {Precision::kFloat16, "float16"}}};

void require(bool ok, const std::string& setting, const std::string& found, const std::string& expected) {
  if (!ok) {
    throw Error(ErrorKind::kArgument, fmt::format("train.{}: found {}, expected {}", setting, found, expected));
  }
}

void require_share(double value, const char* setting) {
  require(value >= 0 && value < 1, setting, fmt::format("{}", value), "at least 0 and less than 1");
}

}  // namespace

const char* to_string(Precision precision) noexcept {
  for (const auto& [value, name] : kPrecisions) {
    if (value == precision) return name;
  }
  return "unknown";
}

Precision precision_from_string(const std::string& name) {
  for (const auto& [value, known] : kPrecisions) {
    if (name == known) return value;
  }
  throw Error(ErrorKind::kArgument,
              fmt::format("unknown precision \"{}\"; expected float32, bfloat16 or float16", name));
}

void check_settings(const TrainSettings& settings) {
  require(settings.classes >= 2, "classes", std::to_string(settings.classes), "at least 2");
  require(settings.image_size >= 8, "image_size", std::to_string(settings.image_size), "at least 8 pixels");
  require(settings.operator_threads >= 0, "operator_threads", std::to_string(settings.operator_threads),
          "0 (all usable cores) or more");
  require(std::isfinite(settings.learning_rate) && settings.learning_rate > 0, "learning_rate",
          fmt::format("{}", settings.learning_rate), "a positive number");
  require(std::isfinite(settings.weight_decay) && settings.weight_decay >= 0, "weight_decay",
          fmt::format("{}", settings.weight_decay), "0 or a positive number");
  require_share(settings.momentum, "momentum");
  require_share(settings.label_smoothing, "label_smoothing");
  require_share(settings.warmup, "warmup");
}

double scheduled_rate(const TrainSettings& settings, std::int64_t step, std::int64_t total) {
  total = std::max<std::int64_t>(total, 1);
  step = std::clamp<std::int64_t>(step, 0, total - 1);
  const auto steps = static_cast<double>(total);
  const double rising = std::max(1.0, std::round(settings.warmup * steps));
  const double rise = static_cast<double>(step + 1) / rising;
  const double fall = static_cast<double>(total - step) / std::max(1.0, steps - rising);
  return settings.learning_rate * std::min({rise, fall, 1.0});
}

}  // namespace unstarve
