#include "unstarve/train/settings.h"

#include <catch2/catch.hpp>

#include <limits>
#include <set>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/train/settings_fields.h"

namespace unstarve {

TEST_CASE("test-time augmentation has a word for each value") {
  CHECK(word_of(TestAugmentation::kNone) == "none");
  CHECK(word_of(TestAugmentation::kMirrorTranslate) == "mirror_translate");
  CHECK(words_of<TestAugmentation>().size() == 3);
}

TEST_CASE("settings out of range are rejected by name") {
  const auto error_message = [](auto change) -> std::string {
    TrainSettings settings;
    change(settings);
    try {
      check_settings(settings);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kArgument);
      return error.what();
    }
    return "accepted";
  };
  using Catch::Contains;
  CHECK(error_message([](TrainSettings&) {}) == "accepted");
  CHECK_THAT(error_message([](TrainSettings& s) { s.classes = 1; }), Contains("classes"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.image_size = 0; }), Contains("image_size"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.operator_threads = -1; }), Contains("operator_threads"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.learning_rate = std::numeric_limits<double>::quiet_NaN(); }),
             Contains("learning_rate"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.optimiser.momentum = 1; }), Contains("momentum"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.optimiser.weight_decay = -1e-4; }), Contains("weight_decay"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.label_smoothing = 1.5; }), Contains("label_smoothing"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.schedule.warmup = -0.1; }), Contains("warmup"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.schedule.initial_share = 1.1; }), Contains("initial_share"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.optimiser.norm_bias_rate = 0; }), Contains("norm_bias_rate"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.lookahead.every = -1; }), Contains("lookahead.every"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.lookahead.decay = 1; }), Contains("lookahead.decay"));
  for (const double sparsity : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THAT(error_message([=](TrainSettings& s) { s.prune.sparsity = sparsity; }), Contains("prune.sparsity"));
  CHECK(error_message([](TrainSettings& s) { s.qat.begin = s.qat.freeze = 0.5; }) == "accepted");
  CHECK_THAT(error_message([](TrainSettings& s) { s.qat.begin = 0.8; }),
             Contains("train.qat.freeze: found 0.75; expected at least 0.8, the share at which int8 begins"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.prune.pattern = "rows"; }),
             Contains("train.prune.pattern: found \"rows\"; expected any, channels, or N:M"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.prune.pattern = "channels"; }),
             Contains("train.prune.pattern: found channels without a share; expected the share of the multiply-adds"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.prune = {.sparsity = 0.6, .pattern = "2:4"}; }),
             Contains("train.prune.pattern: found 2:4 with the sparsity 0.6; expected 0.5"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.prune.sparsity_ramp = {0.6, 0.1}; }), Contains("sparsity_ramp"));
}

TEST_CASE("all faults are reported, one per line, each with its path") {
  TrainSettings settings;
  settings.classes = 0;
  settings.schedule.at = {0.5, 1.5};
  settings.optimiser.name = OptimiserName::kLamb;
  settings.optimiser.form = UpdateForm::kFused;
  CHECK_THROWS_WITH(check_settings(settings),
                    "train.classes: found 0; expected at least 2 and at most 1000000000\n"
                    "train.optimiser.form: found fused; expected foreach or each with lamb\n"
                    "train.schedule.at: found 1.5; expected more than 0 and less than 1");
}

TEST_CASE("progressive settings have ramps of two shares and sizes up to the full one") {
  TrainSettings settings;
  settings.image_size = 128;
  settings.evaluation_size = 4;
  settings.progressive.image_size = 160;
  settings.progressive.image_size_ramp = {0.8, 0.4};
  settings.progressive.augmentation = 1.5;
  settings.progressive.augmentation_ramp = {0.4, 1.2};
  settings.progressive.samples = 0;
  settings.progressive.samples_ramp = {0.5};
  CHECK_THROWS_WITH(
      check_settings(settings),
      "train.evaluation_size: found 4; expected 0, or at least 8 and at most 65536\n"
      "train.progressive.image_size: found 160; expected 0, or at least 8 and at most 128\n"
      "train.progressive.image_size_ramp: found 0.8, 0.4; expected two shares of the run, the first not above the "
      "second\n"
      "train.progressive.augmentation: found 1.5; expected at least 0 and at most 1\n"
      "train.progressive.augmentation_ramp: found 1.2; expected at least 0 and at most 1\n"
      "train.progressive.samples: found 0; expected more than 0 and at most 1\n"
      "train.progressive.samples_ramp: found 0.5; expected two shares of the run, the first not above the second");
  settings = {};
  settings.progressive = {64, {0, 1}, 8, 0, {0.5, 0.5}, 0.1, {0, 0}};
  CHECK_NOTHROW(check_settings(settings));
  CHECK(settings.progressive.any());
  CHECK_FALSE(TrainSettings().progressive.any());
}

TEST_CASE("every field has its own path and flag, and a help text") {
  std::set<std::string> paths, flags;
  TrainSettings settings;
  visit_train_fields(settings, [&](const FieldInfo& field, const auto&) {
    CHECK(paths.insert(field.path).second);
    if (*field.flag != '\0') CHECK(flags.insert(field.flag).second);
    CHECK(*field.help != '\0');
  });
  CHECK(paths.size() > 20);
}

}  // namespace unstarve
