#include "unstarve/train/settings_in_use.h"

#include <array>

#include <fmt/format.h>

namespace unstarve {
namespace {

using Condition = bool (*)(const TrainSettings&);

template <OptimiserName... kNames>
bool optimiser_is(const TrainSettings& settings) {
  return ((settings.optimiser.name == kNames) || ...);
}

template <ScheduleName... kNames>
bool schedule_is(const TrainSettings& settings) {
  return ((settings.schedule.name == kNames) || ...);
}

constexpr Condition kAdaptiveOptimiser = optimiser_is<OptimiserName::kAdamw, OptimiserName::kLamb>;
constexpr Condition kStepSchedule = schedule_is<ScheduleName::kStep>;
constexpr Condition kPrunes = [](const TrainSettings& s) { return s.prune.any(); };
constexpr Condition kKeepsChannels = [](const TrainSettings& s) { return !s.prune.channels(); };
constexpr Condition kOtherThanOneCycle = [](const TrainSettings& s) {
  return s.schedule.name != ScheduleName::kOneCycle;
};
constexpr Condition kImagesGrow = [](const TrainSettings& s) { return s.progressive.image_size > 0; };
constexpr Condition kTrainsForInt8 = [](const TrainSettings& s) { return s.qat.enabled; };

struct Rule {
  std::string_view path;  // of the setting
  std::string_view on;    // path of the setting on which it depends
  Condition used;
  std::string_view expected;  // of `on`; "": any value that switches it on
};

constexpr auto kRules = std::to_array<Rule>({
    {"optimiser.momentum", "optimiser.name", optimiser_is<OptimiserName::kSgd, OptimiserName::kLars>, "sgd or lars"},
    {"optimiser.nesterov", "optimiser.name", optimiser_is<OptimiserName::kSgd>, "sgd"},
    {"optimiser.beta1", "optimiser.name", kAdaptiveOptimiser, "adamw or lamb"},
    {"optimiser.beta2", "optimiser.name", kAdaptiveOptimiser, "adamw or lamb"},
    {"optimiser.epsilon", "optimiser.name", kAdaptiveOptimiser, "adamw or lamb"},
    {"optimiser.trust", "optimiser.name", optimiser_is<OptimiserName::kLars>, "lars"},
    {"schedule.initial_share", "schedule.name", kOtherThanOneCycle, "another schedule"},
    {"schedule.final_share", "schedule.name",
     schedule_is<ScheduleName::kLinear, ScheduleName::kCosine, ScheduleName::kPolynomial>,
     "linear, cosine or polynomial"},
    {"schedule.power", "schedule.name", schedule_is<ScheduleName::kPolynomial>, "polynomial"},
    {"schedule.at", "schedule.name", kStepSchedule, "step"},
    {"schedule.factor", "schedule.name", kStepSchedule, "step"},
    {"winograd", "channels_last", [](const TrainSettings& s) { return s.channels_last || !s.winograd; }, "true"},
    {"fused_batch_norm", "channels_last", [](const TrainSettings& s) { return s.channels_last || !s.fused_batch_norm; },
     "true"},
    {"lookahead.decay", "lookahead.every", [](const TrainSettings& s) { return s.lookahead.every > 0; }, ""},
    {"prune.sparsity_ramp", "prune.sparsity", kPrunes, ""},
    {"prune.sparsity_ramp", "prune.pattern", kKeepsChannels, "any or N:M"},
    {"prune.every", "prune.sparsity", kPrunes, ""},
    {"prune.every", "prune.pattern", kKeepsChannels, "any or N:M"},
    {"qat.begin", "qat.enabled", kTrainsForInt8, ""},
    {"qat.freeze", "qat.enabled", kTrainsForInt8, ""},
    {"whitening_epochs", "model", [](const TrainSettings& s) { return s.model.starts_with("cifar_speed"); },
     "cifar_speed"},
    {"progressive.image_size_ramp", "progressive.image_size", kImagesGrow, ""},
    {"progressive.multiple", "progressive.image_size", kImagesGrow, ""},
    {"progressive.augmentation_ramp", "progressive.augmentation",
     [](const TrainSettings& s) { return s.progressive.augmentation < 1; }, ""},
    {"progressive.samples_ramp", "progressive.samples",
     [](const TrainSettings& s) { return s.progressive.samples < 1; }, ""},
});

// Of a setting on which others depend by its value.
std::string value_of(std::string_view path, const TrainSettings& settings) {
  if (path == "optimiser.name") return std::string(word_of(settings.optimiser.name));
  if (path == "schedule.name") return std::string(word_of(settings.schedule.name));
  if (path == "channels_last") return settings.channels_last ? "true" : "false";
  return path == "model" ? settings.model : settings.prune.pattern;
}

}  // namespace

std::string why_without_effect(std::string_view path, const TrainSettings& settings,
                               const std::function<std::string(std::string_view)>& name_of) {
  for (const Rule& rule : kRules) {
    if (rule.path != path || rule.used(settings)) continue;
    const std::string other = name_of(rule.on);
    if (rule.expected.empty()) return fmt::format("no effect without {}; expected both or neither", other);
    return fmt::format("no effect with {} {}; expected {}. Remove it, or change {}", other, value_of(rule.on, settings),
                       rule.expected, other);
  }
  return "";
}

}  // namespace unstarve
