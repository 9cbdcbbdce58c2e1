#include "unstarve/jobs/settings/recipes.h"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <cmath>
#include <set>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/temporary_folder.h"
#include "unstarve/train/progressive.h"
#include "unstarve/train/settings_fields.h"

namespace unstarve {
namespace {

constexpr const char* kThumbnails = "synthetic:classes=7,images=3000,size=32,seed=1";

Settings chosen(const char* data, const TrainChoice& choice) {
  return default_settings({data, ""}, *open_dataset(data), choice);
}

}  // namespace

TEST_CASE("every recipe has its own name, a help text and valid settings") {
  std::set<std::string_view> names;
  for (const Recipe& recipe : recipes()) {
    CAPTURE(std::string(recipe.name));
    CHECK(names.insert(recipe.name).second);
    CHECK_FALSE(recipe.help.empty());
    CHECK(&find_recipe(recipe.name) == &recipe);
    CHECK(recipe.epochs > 0);
    const Settings settings = settings_of(recipe);
    CHECK_NOTHROW(check_settings(settings.train));
    CHECK(settings.recipe == recipe.name);
    CHECK(settings_from_yaml(to_yaml(settings), "s") == settings);
    CHECK(settings_from_yaml("{unstarve: 1, recipe: " + std::string(recipe.name) + "}", "s") == settings);
  }
  CHECK(recipe_named("none") == nullptr);
  CHECK_THROWS_WITH(find_recipe("none"), Catch::Contains("\"none\"; expected one of cifar-speed"));
}

TEST_CASE("cifar-speed has the published rates, for the mean of the loss") {
  const Settings settings = settings_of(find_recipe("cifar-speed"));
  const TrainSettings& train = settings.train;
  // From the published program, whose loss is a sum.
  const double batch = 1024, scale = batch * (1 + 1 / (1 - 0.85)), rate = 11.5 / scale, decay = 0.0153 * batch / scale;
  CHECK(settings.pipeline.batch.size == batch);
  CHECK(train.learning_rate == Approx(batch * rate));
  CHECK(train.optimiser.momentum == 0.85);
  CHECK(train.optimiser.nesterov);
  CHECK(train.optimiser.decay_all);
  CHECK(train.optimiser.norm_bias_rate == 64);
  // One step on a weight w with the gradient g of the mean, in both conventions.
  const double w = 0.7, g = 0.3;
  CHECK(train.learning_rate * (g + train.optimiser.weight_decay * w) == Approx(rate * (batch * g + decay / rate * w)));
  CHECK(train.lookahead.every == 5);
  CHECK(train.lookahead.decay == Approx(std::pow(0.95, 5)));
  CHECK(train.whitening_epochs == 3);
  CHECK(train.label_smoothing == 0.2);
  CHECK(train.test_augmentation == TestAugmentation::kMirrorTranslate);
  REQUIRE(settings.pipeline.operations.size() == 2);
  CHECK(settings.pipeline.operations[0].name + to_text(settings.pipeline.operations[0].params) ==
        "pad_crop padding=2 padding_mode=reflect size=32");
  CHECK(settings.pipeline.operations[1].name == "alternating_flip");
  CHECK(settings.pipeline.batch.last == LastBatch::kDrop);
}

TEST_CASE("imagenet has the published rate of 8 ranks, sizes and normalisation") {
  const Settings settings = settings_of(find_recipe("imagenet"));
  const TrainSettings& train = settings.train;
  CHECK(train.model == "resnet50");
  CHECK(8 * train.learning_rate == Approx(1.7));
  CHECK(settings.pipeline.batch.size == 512);
  CHECK(settings.pipeline.output.normalisation == kImagenetNormalisation);
  CHECK(std::pow(train.average, 100) == Approx(0.5).epsilon(1e-2));
  CHECK(train.label_smoothing == 0.1);
  const std::vector<TrainPhase> phases = phases_of(train, 16);
  CHECK(phases == std::vector<TrainPhase>{{0, 12, {160, 1, 1}}, {12, 4, {192, 1, 1}}});
  CHECK(train.evaluation_size == 256);
  const Settings photographs =
      chosen("synthetic:classes=3,images=20,size=300,seed=1", {"resnet18", "cpu", 0, {}, "imagenet"});
  CHECK(photographs.train.model == "resnet18");
  CHECK(photographs.train.image_size == 192);
  CHECK(photographs.pipeline.operations == settings.pipeline.operations);
  const Settings thumbnails = chosen(kThumbnails, {"", "cpu", 0, {}, "imagenet"});
  CHECK(thumbnails.train.progressive.image_size == 24);
  CHECK(thumbnails.train.evaluation_size == 40);
  check_settings(thumbnails.train);
}

TEST_CASE("a recipe replaces defaults of the data, and choices replace those of the recipe") {
  const Recipe& recipe = find_recipe("cifar-speed");
  const Settings settings = chosen(kThumbnails, {"", "cpu", 0, {}, "cifar-speed"});
  CHECK(settings.train.model == "cifar_speed");
  CHECK(settings.train.classes == 7);
  CHECK(settings.train.image_size == 32);
  CHECK(settings.pipeline.batch.size == 1024);
  CHECK(settings.train.learning_rate == 1.5);
  CHECK(settings.pipeline.operations == settings_of(recipe).pipeline.operations);

  const Settings other = chosen(kThumbnails, {"cifar_net", "cpu", 28, Augmentation::kStandard, "cifar-speed"});
  CHECK(other.train.model == "cifar_net");
  CHECK(other.train.image_size == 28);
  CHECK(other.pipeline.operations == training_operations(28, {32, 32}));
  CHECK(other.train.label_smoothing == 0.2);

  const Settings few = chosen("synthetic:classes=7,images=512,size=32,seed=1", {"", "cpu", 0, {}, "cifar-speed"});
  CHECK(few.pipeline.batch.size == 512);
  CHECK(few.train.learning_rate == Approx(0.75));
  const Settings photographs =
      chosen("synthetic:classes=3,images=20,size=300,seed=1", {"", "cpu", 0, {}, "cifar-speed"});
  CHECK(photographs.train.image_size == 32);
  CHECK(photographs.pipeline.operations[0].name == "random_resized_crop");
  CHECK_THROWS_WITH(chosen(kThumbnails, {"", "cpu", 0, {}, "none"}), Catch::Contains("cifar-speed"));
}

TEST_CASE("a batch of a recipe has at most the samples that the pipeline selects") {
  const auto fitted = [](const std::string& source, int ranks) {
    const std::string text =
        fmt::format("unstarve: 1\nrecipe: cifar-speed\npipeline: {{{}, order: {{seed: 3}}}}\n", source);
    const testing::TemporaryFolder folder;
    folder.write("f.yaml", text);
    Settings settings = settings_from_yaml(text, "f.yaml");
    fit_recipe_to_data(folder.path() / "f.yaml", *open_sources(settings.pipeline), ranks, settings);
    return settings.pipeline.batch.size;
  };
  const std::string data = fmt::format("path: '{}'", kThumbnails);
  CHECK(fitted("source: {" + data + "}", 1) == 1024);
  CHECK(fitted("source: {" + data + "}", 4) == 750);
  CHECK(fitted("source: {" + data + ", take: 300}", 1) == 300);
  CHECK(fitted("source: {" + data + ", take: 300}", 2) == 150);
  CHECK(fitted("source: {" + data + ", part: {to: 200}}", 1) == 200);
  // The labels are the numbers of the records modulo 7.
  CHECK(fitted("source: {" + data + ", filter: {labels: ['1']}}", 1) == 429);
  CHECK(fitted("source: {" + data + ", filter: {min_side: 32}}", 1) == 1024);
  CHECK(fitted("mix: [{" + data + ", take: 20}, {" + data + ", take: 30}]", 1) == 50);
}

TEST_CASE("the image size of a settings file changes the operations of its recipe") {
  const auto read = [](const std::string& keys) {
    return settings_from_yaml("unstarve: 1\npipeline: {source: {path: p}}\n" + keys, "f.yaml");
  };
  const Settings large = read("recipe: cifar-speed\ntrain: {image_size: 64}\n");
  CHECK(large.train.image_size == 64);
  CHECK(large.pipeline.operations == training_operations(64, {64, 64}, Augmentation::kAlternating));
  const Settings imagenet = read("recipe: imagenet\ntrain: {image_size: 224}\n");
  CHECK(imagenet.train.image_size == 224);
  CHECK(imagenet.pipeline.operations == training_operations(224, {224, 224}, Augmentation::kStandard));
  const Settings smaller = read("recipe: imagenet\ntrain: {image_size: 96}\n");
  CHECK(smaller.train.progressive.image_size == 80);
  CHECK(smaller.train.evaluation_size == 128);
  CHECK_THROWS_WITH(read("recipe: imagenet\ntrain: {image_size: 4}\n"), Catch::Contains("image_size"));
}

TEST_CASE("keys of a settings file replace those of its recipe") {
  const Settings settings = settings_from_yaml(
      "unstarve: 1\n"
      "recipe: cifar-speed\n"
      "pipeline: {batch: {size: 512}, operations: [horizontal_flip]}\n"
      "train: {learning_rate: 0.5, optimiser: {momentum: 0.9}, lookahead: {every: 0}, classes: 7}\n",
      "f.yaml");
  Settings expected = settings_of(find_recipe("cifar-speed"));
  expected.pipeline.batch.size = 512;
  expected.pipeline.operations = {{"horizontal_flip", {}}};
  expected.train.learning_rate = 0.5;
  expected.train.optimiser.momentum = 0.9;
  expected.train.lookahead.every = 0;
  expected.train.classes = 7;
  CHECK(settings == expected);
  CHECK(settings_from_yaml(to_yaml(settings), "f.yaml") == settings);

  // A recipe that is requested replaces that of the file; without one there is none.
  CHECK(settings_from_yaml("unstarve: 1", "f.yaml", "cifar-speed").train.model == "cifar_speed");
  CHECK(settings_from_yaml("unstarve: 1", "f.yaml").recipe.empty());
  CHECK_THAT(to_yaml(Settings()), !Catch::Contains("recipe"));
  try {
    (void)settings_from_yaml("unstarve: 1\nrecipe: fast\ntrain: {classes: many}", "f.yaml");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInput);
    CHECK_THAT(error.what(), Catch::Contains("f.yaml.recipe: line 2: found \"fast\"; expected one of cifar-speed") &&
                                 Catch::Contains("f.yaml.train.classes: line 3"));
  }
}

}  // namespace unstarve
