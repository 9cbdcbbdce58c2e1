#pragma once
// Recipes: named settings of a whole run that reach an accuracy fast, for `train --recipe` and the key `recipe` of a
// settings file.
//
//   defaults ──▶ recipe ──▶ keys of the settings file ──▶ flags         the last value counts
//
// To add a recipe: a function and a row in recipes.cpp, and its section in docs/guide/recipes.md.
// Threads: constant data.

#include <span>
#include <string>
#include <string_view>

#include "unstarve/jobs/settings/settings.h"

namespace unstarve {

struct Recipe {
  std::string_view name;
  std::string_view help;  // one line
  int image_size = 0;     // of data that is not made of thumbnails, and of settings files without this key
  Augmentation augmentation = Augmentation::kStandard;
  int batch = 0;              // the learning rate is for this size
  double epochs = 0;          // of a run without --epochs and --minutes
  double evaluate_every = 0;  // epochs, without --evaluate-every; 0: only at the end
  void (*set)(TrainSettings& train) = nullptr;
};

[[nodiscard]] std::span<const Recipe> recipes();
// Null if there is none of this name.
[[nodiscard]] const Recipe* recipe_named(std::string_view name);
// Throws Error(kArgument) with the known names.
[[nodiscard]] const Recipe& find_recipe(std::string_view name);
[[nodiscard]] std::string recipe_names(std::string_view separator = ", ");

// Sets Settings::recipe, batch size and training settings, except for device, precision, classes and sizes.
void apply_recipe(const Recipe& recipe, Settings& settings);
// What a settings file with the recipe begins with.
[[nodiscard]] Settings settings_of(const Recipe& recipe);
// Replaces size, operations and output of settings_of(). Precondition: a size that check_settings() accepts.
void set_image_size(const Recipe& recipe, int image_size, Settings& settings);
// The sizes of the recipe for evaluations and for the first epochs, in proportion to train.image_size.
void scale_image_sizes(const Recipe& recipe, TrainSettings& train);

}  // namespace unstarve
