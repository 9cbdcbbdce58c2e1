#include "unstarve/jobs/settings/settings.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/jobs/ladder/ladder.h"
#include "unstarve/storage/dataset/notice.h"
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

TEST_CASE("a pipeline's device is the one that trains, and says nothing of another") {
  Settings settings;
  settings.train.device = settings.pipeline.device.name = "cuda:1";
  settings.pipeline.device.operations = OperationsOn::kDevice;
  settings.pipeline.device.decode = DecodeOn::kHybrid;
  CHECK(settings_from_yaml(to_yaml(settings), "s") == settings);
  Settings elsewhere = settings;
  elsewhere.train.device = "cpu";
  CHECK_THROWS_WITH(settings_from_yaml(to_yaml(elsewhere), "s.yaml"),
                    Catch::StartsWith("s.yaml.pipeline.device.name: line ") &&
                        Catch::EndsWith(": cuda:1, expected cpu, train.device of these settings, or none"));
  const Settings asked = settings;
  std::vector<std::string> told;
  set_notice_sink([&](const std::string& text) { told.push_back(text); });
  set_device(settings, "cuda:1");
  CHECK(settings == asked);
  CHECK(told.empty());
  set_device(settings, "emulated:h100-resnet50");
  REQUIRE(told.size() == 1);
  CHECK(told[0] ==
        "device.operations: device, device.decode: hybrid: left out, asked of cuda:1 and the device is to be "
        "emulated:h100-resnet50");
  CHECK(settings.train.device == "cuda:1");
  CHECK(settings.pipeline.device == DeviceSpec{});
  settings = asked;
  set_device(settings, "cpu");
  CHECK(settings.train.device == "cpu");
  CHECK(settings.pipeline.device == DeviceSpec{});
  CHECK(told.size() == 2);
  // A node that asks nothing is no loss.
  settings.pipeline.device = {.name = "cuda"};
  set_device(settings, "cpu");
  CHECK(settings.pipeline.device == DeviceSpec{});
  CHECK(told.size() == 2);
  set_notice_sink({});
  // cuda is cuda:0.
  settings = asked;
  settings.train.device = settings.pipeline.device.name = "cuda";
  set_device(settings, "cuda:0");
  CHECK(settings.train.device == "cuda:0");
  CHECK(settings.pipeline.device.operations == OperationsOn::kDevice);
  CHECK(settings_from_yaml(to_yaml(settings), "s") == settings);
}

TEST_CASE("what is asked of a device and done on the host is told") {
  std::vector<std::string> told;
  set_notice_sink([&](const std::string& text) { told.push_back(text); });
  PipelineSpec spec;
  spec.device.name = "cuda";
  tell_done_on_host(spec);
  CHECK(told.empty());
  spec.device.operations = OperationsOn::kDevice;
  tell_done_on_host(spec);
  spec.device.decode = DecodeOn::kHybrid;
  tell_done_on_host(spec);
  set_notice_sink({});
  REQUIRE(told.size() == 2);
  CHECK_THAT(told[0], Catch::Contains("device.operations: device: done on the host here, to the same bits"));
  CHECK_THAT(told[1], Catch::Contains("device.decode: hybrid: done on the host here, by the host's decoder"));
}

}  // namespace
}  // namespace unstarve
