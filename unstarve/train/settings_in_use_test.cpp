#include "unstarve/train/settings_in_use.h"

#include <catch2/catch.hpp>

#include <set>
#include <string>

#include "unstarve/train/settings_fields.h"

namespace unstarve {
namespace {

// The paths of the settings without effect.
std::set<std::string> unused_of(const TrainSettings& settings) {
  std::set<std::string> unused;
  visit_train_fields(settings, [&](const FieldInfo& field, const auto&) {
    if (!why_without_effect(field.path, settings).empty()) unused.insert(field.path);
  });
  return unused;
}

TEST_CASE("settings of other optimisers, schedules and methods have no effect") {
  using Paths = std::set<std::string>;
  TrainSettings settings;
  settings.channels_last = true;
  CHECK(unused_of(settings) == Paths{"optimiser.beta1", "optimiser.beta2", "optimiser.epsilon", "optimiser.trust",
                                     "schedule.power", "schedule.at", "schedule.factor", "lookahead.decay",
                                     "prune.sparsity_ramp", "prune.every", "qat.begin", "qat.freeze",
                                     "whitening_epochs", "progressive.image_size_ramp", "progressive.multiple",
                                     "progressive.augmentation_ramp", "progressive.samples_ramp"});
  settings.optimiser.name = OptimiserName::kAdamw;
  settings.schedule.name = ScheduleName::kOneCycle;
  settings.lookahead.every = 5;
  settings.prune = {.sparsity = 0.5, .pattern = "channels"};
  settings.qat.enabled = true;
  settings.model = "cifar_speed";
  settings.progressive.image_size = 128;
  settings.progressive.augmentation = settings.progressive.samples = 0.5;
  CHECK(unused_of(settings) == Paths{"optimiser.momentum", "optimiser.nesterov", "optimiser.trust",
                                     "schedule.initial_share", "schedule.final_share", "schedule.power", "schedule.at",
                                     "schedule.factor", "prune.sparsity_ramp", "prune.every"});
  settings.optimiser.name = OptimiserName::kLars;
  settings.schedule.name = ScheduleName::kStep;
  settings.prune.pattern = "2:4";
  CHECK(unused_of(settings) == Paths{"optimiser.nesterov", "optimiser.beta1", "optimiser.beta2", "optimiser.epsilon",
                                     "schedule.final_share", "schedule.power"});
}

TEST_CASE("the reason has the other setting, its value and what is expected") {
  const TrainSettings settings;
  CHECK(why_without_effect("optimiser.beta1", settings) ==
        "no effect with optimiser.name sgd; expected adamw or lamb. Remove it, or change optimiser.name");
  CHECK(why_without_effect("lookahead.decay", settings) ==
        "no effect without lookahead.every; expected both or neither");
  CHECK(why_without_effect("schedule.power", settings, [](std::string_view) { return "--schedule"; }) ==
        "no effect with --schedule linear; expected polynomial. Remove it, or change --schedule");
  CHECK(why_without_effect("optimiser.momentum", settings).empty());
  CHECK(why_without_effect("winograd", settings) ==
        "no effect with channels_last false; expected true. Remove it, or change channels_last");
}

}  // namespace
}  // namespace unstarve
