#include "unstarve/jobs/training/train_data.h"

#include <catch2/catch.hpp>
#include <string>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {
namespace {

using Catch::Contains;

PipelineSpec data_of(const std::string& path) {
  PipelineSpec spec;
  spec.source.path = path;
  return spec;
}

TEST_CASE("data to train and to evaluate with") {
  const PipelineSpec training = data_of("synthetic:classes=4,images=20,size=8"), none = data_of("");
  CHECK(has_source(training));
  CHECK_FALSE(has_source(none));
  ConfigurationFaults faults;
  TrainData data = open_train_data({training, none, 4}, {}, faults);
  CHECK_NOTHROW(faults.throw_if_any());
  REQUIRE(data.training);
  CHECK(data.training->size() == 20);
  CHECK_FALSE(data.validation);
  data = open_train_data({training, data_of("synthetic:classes=4,images=7,size=8"), 10}, {}, faults);
  CHECK_NOTHROW(faults.throw_if_any());
  REQUIRE(data.validation);
  CHECK(data.validation->size() == 7);
}

TEST_CASE("all faults of the data are found") {
  const PipelineSpec training = data_of("synthetic:classes=4,images=20,size=8");
  ConfigurationFaults faults;
  TrainData data = open_train_data({training, data_of("synthetic:classes=5,images=7,size=8"), 3}, {}, faults);
  CHECK(data.validation);
  CHECK_THROWS_WITH(faults.throw_if_any(), Contains("train.classes: found 3; expected at least the 4 of the data\n") &&
                                               Contains("validation data: classes"));
  ConfigurationFaults targets;
  PipelineSpec mixed = training;
  mixed.batch_operations = {{"mixup", {}}};
  (void)open_train_data({mixed, data_of(""), 4}, {}, targets);
  CHECK_FALSE(targets.any());
  (void)open_train_data({mixed, data_of(""), 12}, {}, targets);
  CHECK_THROWS_WITH(targets.throw_if_any(),
                    Contains("train.classes: found 12; expected the 4 of the data, for which the "
                             "batch operations make targets"));
  ConfigurationFaults missing;
  data = open_train_data({data_of("/missing/train"), data_of("/missing/val"), 3}, {}, missing);
  CHECK_FALSE(data.training);
  CHECK_FALSE(data.validation);
  CHECK_THROWS_WITH(missing.throw_if_any(),
                    Contains("/missing/train") && Contains("\n--val: ") && Contains("/missing/val"));
  PipelineSpec unlabelled = training;
  unlabelled.source.labels = "none";
  ConfigurationFaults labels;
  data = open_train_data({unlabelled, data_of(""), 4}, {}, labels);
  CHECK_THROWS_WITH(labels.throw_if_any(), Contains("labels: none; expected labels to train and evaluate with"));
}

}  // namespace
}  // namespace unstarve
