#include "unstarve/jobs/settings.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/jobs/ladder.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

TEST_CASE("settings survive being written and read") {
  Settings settings;
  CHECK(settings_from_yaml(to_yaml(settings), "s") == settings);
  settings.pipeline.operations = training_operations(32);
  settings.pipeline.batch.size = 96;
  settings.train = {"cifar_net", 100, 32,  "cuda:1", Precision::kBfloat16, true, true, 3, 0.1 / 3, 0.85,
                    1e-4,        0.1, 0.2, 77};
  CHECK(settings_from_yaml(to_yaml(settings, "two\nlines of comment: with # marks"), "s") == settings);
}

TEST_CASE("a file of another version or with unknown keys is refused") {
  CHECK_THROWS_WITH(settings_from_yaml("unstarve: 2", "f.yaml"),
                    Catch::Contains("version 2") && Catch::Contains("f.yaml"));
  CHECK_THROWS_WITH(settings_from_yaml("{}", "f.yaml"), Catch::Contains("version 0"));
  CHECK_THROWS_WITH(settings_from_yaml("unstarve: 1\ntrain: {modell: x}", "f.yaml"),
                    Catch::Contains("f.yaml.train.modell: line 2"));
  CHECK_THROWS_WITH(settings_from_yaml("unstarve: 1\ntrain: {precision: float7}", "f.yaml"), Catch::Contains("float7"));
  CHECK_THROWS_AS(load_settings("/no/such/file.yaml"), Error);
}

TEST_CASE("defaults fit the data") {
  const auto thumbnails = open_dataset("synthetic:classes=7,images=20,size=32,seed=1");
  const Settings small = default_settings("p", "", *thumbnails, "", "cpu");
  CHECK(small.train.model == "cifar_net");
  CHECK(small.train.image_size == 32);
  CHECK(small.train.classes == 7);
  CHECK(small.pipeline.operations[0].name == "pad_crop");
  const auto photographs = open_dataset("synthetic:classes=3,images=20,size=300,seed=1");
  const Settings large = default_settings("p", "", *photographs, "", "emulated:h100-resnet50");
  CHECK(large.train.image_size == 224);
  CHECK(large.pipeline.batch.size == 400);
  CHECK(large.pipeline.operations[0].name == "random_resized_crop");
}

TEST_CASE("the base of the ladder is plain, and scales the rate with the batch") {
  const auto data = open_dataset("synthetic:classes=7,images=20,size=32,seed=1");
  const Settings start = default_settings("p", "", *data, "", "cpu");
  const Settings base = base_of(start);
  CHECK(base.pipeline.batch.size == 32);
  CHECK(base.train.learning_rate == Approx(start.train.learning_rate * 32 / start.pipeline.batch.size));
  CHECK(base.pipeline.output.type == ElementType::kFloat32);
  CHECK(base.pipeline.output.layout == Layout::kNchw);
  CHECK(base.pipeline.execution == ExecutionSpec{1, 0, false});
  CHECK(base.pipeline.decode == DecodeSpec{false, false});
  CHECK_FALSE(base.train.channels_last);
  CHECK(base.train.precision == Precision::kFloat32);
}

}  // namespace
}  // namespace unstarve
