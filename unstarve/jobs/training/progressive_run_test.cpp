#include "unstarve/jobs/training/progressive_run.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/ops/schedule.h"

namespace unstarve {
namespace {

Settings progressive_settings() {
  Settings settings;
  settings.pipeline.operations = {{"random_resized_crop", {{"size", {224}}}}, {"horizontal_flip", {}}};
  settings.train.progressive.image_size = 128;
  settings.train.progressive.samples = 0.5;
  return settings;
}

}  // namespace

TEST_CASE("a run without progressive settings keeps its pipeline") {
  Settings settings = progressive_settings();
  settings.train.progressive = {};
  CHECK_NOTHROW(check_run(settings, 0, 5));
  const ProgressiveRun run = progressive_run(settings, 0);
  CHECK(run.pipeline == settings.pipeline);
  CHECK(run.phases.empty());
  CHECK(run.shares.empty());
}

TEST_CASE("a progressive run has phases, scheduled operations and shares of the samples") {
  const Settings settings = progressive_settings();
  CHECK_NOTHROW(check_run(settings, 4.5, 0));
  const ProgressiveRun run = progressive_run(settings, 4.5);  // five epochs, of which the last one is a part
  CHECK(run.phases.front() == TrainPhase{0, 2, {128, 1, 0.5}});
  CHECK(run.phases.back() == TrainPhase{4, 1, {224, 1, 1}});
  CHECK(at_epoch(run.pipeline.operations[0], 0).params.at("size").numbers[0] == 128);
  CHECK(at_epoch(run.pipeline.operations[0], 4).params.at("size").numbers[0] == 224);
  CHECK(run.pipeline.operations[1] == settings.pipeline.operations[1]);
  REQUIRE(run.shares.size() == 4);
  CHECK(run.shares.front() == EpochShare{0, 0.5});
  CHECK(run.shares.back() == EpochShare{4, 1});
  Settings whole = settings;
  whole.train.progressive.samples = 1;
  CHECK(progressive_run(whole, 5).shares.empty());
}

TEST_CASE("one epoch has the full values") {
  const ProgressiveRun run = progressive_run(progressive_settings(), 0.5);
  CHECK(run.phases == std::vector<TrainPhase>{{0, 1, {224, 1, 1}}});
  CHECK(run.pipeline == progressive_settings().pipeline);
}

TEST_CASE("all faults of settings, pipeline and length are listed together") {
  Settings settings = progressive_settings();
  settings.train.classes = 1;
  settings.train.progressive.image_size = 256;
  settings.pipeline.order.shuffle = false;
  settings.pipeline.batch.pad.to = PadTo::kLargest;
  settings.pipeline.operations[1].name = "flip";
  try {
    check_run(settings, 0, 3);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kArgument);
    for (const char* const fault :
         {"train.classes: found 1",
          "train.progressive.image_size: found 256; expected 0, or at least 8 and at most 224",
          "train.progressive: found a run that is limited by minutes only", "pipeline.order.shuffle: found false",
          "pipeline.batch.pad: found padding", "flip"})
      CHECK_THAT(error.what(), Catch::Contains(fault));
  }
  settings = progressive_settings();
  settings.pipeline.order.window = 64;
  CHECK_THROWS_WITH(check_run(settings, 4, 0), Catch::Contains("pipeline.order.window: found 64; expected 0 with"));
  settings = progressive_settings();
  CHECK_THROWS_WITH(check_run(settings, 20'000, 0), Catch::Contains("found a run of 20000 epochs"));
  CHECK_NOTHROW(check_run(settings, 10, 3));
}

TEST_CASE("the operations make images of the size of the settings, or it is an error") {
  Settings settings = progressive_settings();
  settings.train.progressive = {};
  constexpr Size kInput{300, 260};
  CHECK_NOTHROW(check_image_size(settings, 4, kInput));
  settings.train.image_size = 160;
  CHECK_THROWS_WITH(
      check_image_size(settings, 4, kInput),
      "train.image_size: the operations make images of 224x224 px; expected 160x160. Set train.image_size "
      "to the size that the operations make");
  settings.train.progressive.samples = 0.5;  // one phase, with all samples
  CHECK_THROWS_WITH(check_image_size(settings, 1, kInput), Catch::Contains("train.image_size: the operations make"));
  settings.train.progressive.image_size = 128;
  CHECK_THROWS_WITH(check_image_size(settings, 4, kInput), Catch::Contains("train.progressive.image_size: "));
  // Without operations, images have the size of the data.
  settings.train.progressive = {};
  settings.pipeline.operations.clear();
  CHECK_THROWS_WITH(check_image_size(settings, 4, {32, 32}), Catch::Contains("32x32 px; expected 160x160"));
  CHECK_NOTHROW(check_image_size(settings, 4, {160, 120}));
  settings.pipeline.batch.pad.to = PadTo::kLargest;
  CHECK_NOTHROW(check_image_size(settings, 4, {32, 32}));
  // A schedule reaches the size in one of its epochs.
  settings.pipeline.batch.pad = {};
  OpSpec resize{"resize", {{"size", {}}}};
  resize.params.at("size").schedule.points = {{0, {96, 96}}, {3, {160, 160}}};
  settings.pipeline.operations = {resize};
  CHECK_NOTHROW(check_image_size(settings, 4, kInput));
  settings.train.image_size = 128;
  CHECK_THROWS_WITH(check_image_size(settings, 4, kInput), Catch::Contains("96x96 px; expected 128x128"));
}

}  // namespace unstarve
