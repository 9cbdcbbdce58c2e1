#include "unstarve/jobs/training/train_data.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

TEST_CASE("evaluation sees each sample once, unmixed") {
  Settings settings;
  settings.train.image_size = 160;
  settings.train.evaluation_size = 192;
  settings.pipeline.source.path = "train";
  settings.pipeline.operations = {{"random_resized_crop", {{"size", {160}}}}};
  settings.pipeline.batch.size = 64;
  settings.pipeline.batch_operations = {{"mixup", {}}};
  settings.pipeline.cache.what = CacheWhat::kPixels;
  settings.pipeline.order.seed = 7;
  settings.pipeline.order.rank = 1;
  settings.pipeline.order.world = 2;
  settings.pipeline.order.repeat = 3;
  settings.pipeline.execution.prefetch = 0;
  settings.pipeline.errors = {OnError::kReplace, 7, 0.5};
  PipelineSpec given;
  given.mix = {{.path = "a", .split = "", .weight = 2}, {.path = "b", .split = "", .weight = 1}};
  const PipelineSpec spec = validation_spec(settings, given);
  CHECK(spec.source.path.empty());
  REQUIRE(spec.mix.size() == 2);
  CHECK(spec.mix[1].path == "b");
  CHECK_FALSE(spec.mix[0].weight);
  CHECK(spec.operations == evaluation_operations(192));
  CHECK_FALSE(spec.order.shuffle);
  CHECK(spec.order.rank == 1);
  CHECK(spec.order.world == 2);
  CHECK(spec.order.repeat == 1);
  CHECK(spec.batch.size == 64);
  CHECK(spec.batch.last == LastBatch::kKeep);
  CHECK(spec.batch_operations.empty());
  CHECK(spec.cache == CacheSpec{});
  CHECK(spec.execution.prefetch == 1);
  CHECK(spec.errors == ErrorSpec{OnError::kSkip, 7, 0.5});

  given.operations = {{"resize", {{"size", {96}}}}};
  settings.train.evaluation_size = 0;
  CHECK(validation_spec(settings, given).operations == given.operations);
  given.operations.clear();
  CHECK(validation_spec(settings, given).operations == evaluation_operations(160));
  settings.pipeline.errors.policy = OnError::kFail;
  CHECK(validation_spec(settings, given).errors.policy == OnError::kFail);
}

TEST_CASE("settings that evaluation ignores are listed") {
  std::vector<std::string> notices;
  set_notice_sink([&](const std::string& text) { notices.push_back(text); });
  PipelineSpec given;
  given.source.path = "val";
  notify_ignored(given);
  CHECK(notices.empty());
  given.order.repeat = 2;
  given.batch_operations = {{"mixup", {}}};
  notify_ignored(given);
  set_notice_sink({});
  REQUIRE(notices.size() == 1);
  CHECK(notices[0] == "evaluation uses each sample of val once: order.repeat, batch_operations of its spec is ignored");
}

}  // namespace
}  // namespace unstarve
