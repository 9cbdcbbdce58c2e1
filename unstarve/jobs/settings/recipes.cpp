#include "unstarve/jobs/settings/recipes.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

// airbench94 (Jordan, arXiv:2404.00498; https://github.com/KellerJordan/cifar10-airbench, legacy/airbench94.py). It
// gives rate and decay for a loss that is summed over a batch of B = 1024, divided by s = 1 + 1 / (1 - momentum):
//
//   w <- w - r (G + (d / r) w), with momentum       r = 11.5 / (B s), d = 0.0153 / s, G: gradient of the sum
//
// With the gradient g = G / B of the mean, the same update is w <- w - R (g + D w) with
//
//   R = B r = 11.5 / s = 1.5                        D = d / R = 0.0153 / 11.5
//
// Biases of batch norms have the rate 64 r and the decay d / (64 r). All parameters decay. The published run has 9.9
// epochs, which are rounded up here.
void set_cifar_speed(TrainSettings& train) {
  train.model = "cifar_speed";
  train.channels_last = true;
  train.learning_rate = 1.5;
  OptimiserSettings& optimiser = train.optimiser;
  optimiser = {};
  optimiser.form = UpdateForm::kFused;
  optimiser.momentum = 0.85;
  optimiser.nesterov = true;
  optimiser.weight_decay = 0.0153 / 11.5;
  optimiser.decay_all = true;
  optimiser.norm_bias_rate = 64;
  ScheduleSettings& schedule = train.schedule;
  schedule = {};
  schedule.name = ScheduleName::kLinear;
  schedule.warmup = 0.23;
  schedule.initial_share = 0.2;
  schedule.final_share = 0.07;
  train.clip_norm = 0;
  train.accumulate = 1;
  train.average = 0;
  train.lookahead = {5, 0.95 * 0.95 * 0.95 * 0.95 * 0.95};
  train.whitening_epochs = 3;
  train.label_smoothing = 0.2;
  train.test_augmentation = TestAugmentation::kMirrorTranslate;
}

constexpr auto kRecipes = std::to_array<Recipe>({
    {"cifar-speed", "CIFAR-10 in 10 epochs, as airbench94", 32, Augmentation::kAlternating, 1024, 10, 0,
     set_cifar_speed},
});

}  // namespace

std::span<const Recipe> recipes() { return kRecipes; }

const Recipe* recipe_named(std::string_view name) {
  const auto found = std::find_if(kRecipes.begin(), kRecipes.end(), [&](const Recipe& r) { return r.name == name; });
  return found == kRecipes.end() ? nullptr : &*found;
}

const Recipe& find_recipe(std::string_view name) {
  if (const Recipe* const found = recipe_named(name)) return *found;
  throw Error(ErrorKind::kArgument, fmt::format("unknown recipe \"{}\"; expected one of {}", name, recipe_names()));
}

std::string recipe_names(std::string_view separator) {
  std::string names;
  for (const Recipe& recipe : kRecipes) {
    if (!names.empty()) names += separator;
    names += recipe.name;
  }
  return names;
}

void apply_recipe(const Recipe& recipe, Settings& settings) {
  settings.recipe = recipe.name;
  recipe.set(settings.train);
  settings.pipeline.batch.size = recipe.batch;
}

Settings settings_of(const Recipe& recipe) {
  Settings settings;
  apply_recipe(recipe, settings);
  settings.train.image_size = recipe.image_size;
  settings.pipeline.operations =
      training_operations(recipe.image_size, {recipe.image_size, recipe.image_size}, recipe.augmentation);
  settings.pipeline.output = thumbnail_output();
  return settings;
}

}  // namespace unstarve
