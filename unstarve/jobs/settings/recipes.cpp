#include "unstarve/jobs/settings/recipes.h"

#include <algorithm>
#include <array>
#include <cmath>

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
  train.evaluation_size = 0;
  train.progressive = {};
  train.test_augmentation = TestAugmentation::kMirrorTranslate;
  train.resident = Residence::kAuto;
}

// ffcv-imagenet (https://github.com/libffcv/ffcv-imagenet, rn50_configs/rn50_16_epochs.yaml and train_imagenet.py): 16
// epochs on 8 GPUs with batches of 512 each and the rate 1.7. The rate is multiplied by the number of ranks here, so
// that of one rank is 1.7 / 8. Sizes are 160 px in the first 12 epochs, then 192 px, and 256 px in evaluations.
// Not in the published run: the average of the weights. It has a half-life of 100 updates: 0.5^(1/100).
void set_imagenet(TrainSettings& train) {
  train.model = "resnet50";
  train.channels_last = true;
  train.evaluation_size = 256;
  train.learning_rate = 1.7 / 8;
  OptimiserSettings& optimiser = train.optimiser;
  optimiser = {};
  optimiser.form = UpdateForm::kFused;
  optimiser.momentum = 0.9;
  optimiser.nesterov = false;
  optimiser.weight_decay = 1e-4;
  ScheduleSettings& schedule = train.schedule;
  schedule = {};
  schedule.name = ScheduleName::kLinear;
  schedule.warmup = 2.0 / 16;
  schedule.initial_share = 1e-4;
  schedule.final_share = 0;
  train.clip_norm = 0;
  train.accumulate = 1;
  train.average = 0.9931;
  train.lookahead = {};
  train.whitening_epochs = 0;
  train.label_smoothing = 0.1;
  train.progressive = {};
  train.progressive.image_size = 160;
  train.progressive.image_size_ramp = {0.72, 0.86};
  train.test_augmentation = TestAugmentation::kMirror;
  train.resident = Residence::kOff;
}

constexpr auto kRecipes = std::to_array<Recipe>({
    {"cifar-speed", "CIFAR-10 in 10 epochs, as airbench94", 32, Augmentation::kAlternating, 1024, 10, 0,
     set_cifar_speed},
    {"imagenet", "ResNet-50 on ImageNet in 16 epochs with progressive resizing, after ffcv-imagenet", 192,
     Augmentation::kStandard, 512, 16, 0, set_imagenet},
});

}  // namespace

std::span<const Recipe> recipes() { return kRecipes; }

const Recipe* recipe_named(std::string_view name) {
  const auto found = std::ranges::find(kRecipes, name, &Recipe::name);
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
  set_image_size(recipe, recipe.image_size, settings);
  return settings;
}

void scale_image_sizes(const Recipe& recipe, TrainSettings& train) {
  constexpr int kMultiple = 8;  // pixels
  for (int* const size : {&train.evaluation_size, &train.progressive.image_size}) {
    const double exact = static_cast<double>(*size) * train.image_size / recipe.image_size;
    *size = static_cast<int>(std::lround(exact / kMultiple)) * kMultiple;
  }
}

void set_image_size(const Recipe& recipe, int image_size, Settings& settings) {
  settings.train.image_size = image_size;
  scale_image_sizes(recipe, settings.train);
  settings.pipeline.operations = training_operations(image_size, {image_size, image_size}, recipe.augmentation);
  settings.pipeline.output = output_for(image_size);
}

}  // namespace unstarve
