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

}  // namespace unstarve
