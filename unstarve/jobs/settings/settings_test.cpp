#include "unstarve/jobs/settings/settings.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/storage/open.h"
#include "unstarve/train/settings_fields.h"

namespace unstarve {
namespace {

// Gives every field a value that is not its default.
struct Other {
  void operator()(const FieldInfo&, bool& value) const { value = !value; }
  void operator()(const FieldInfo& field, std::string& value) const {
    const std::string_view path = field.path;
    value = path == "device" ? "cuda:1" : path == "prune.pattern" ? "2:4" : "cifar_net";
  }
  void operator()(const FieldInfo&, int& value) const { value += 9; }
  void operator()(const FieldInfo&, std::uint64_t& value) const { value += 77; }
  void operator()(const FieldInfo&, double& value) const { value = value / 3 + 0.1; }
  void operator()(const FieldInfo& field, std::vector<double>& value) const {
    value = {1.0 / 3};
    if (std::string_view(field.path).ends_with("_ramp")) value.push_back(2.0 / 3);
  }
  template <class Enum>
  void operator()(const FieldInfo&, Enum& value) const {
    value = static_cast<Enum>(words_of<Enum>().size() - 1);
  }
};

TEST_CASE("settings are unchanged after writing and reading") {
  Settings settings;
  CHECK(settings_from_yaml(to_yaml(settings), "s") == settings);
  settings.pipeline.operations = training_operations(32, {32, 32});
  settings.pipeline.batch.size = 96;
  visit_train_fields(settings.train, Other());
  visit_host_fields(settings.host, Other());
  settings.train.optimiser.name = OptimiserName::kAdamw;  // fused, unlike the last two
  settings.train.prune.sparsity = 0.5;                    // that of the pattern
  CHECK(settings_from_yaml(to_yaml(settings, "two\nlines of comment: with # marks"), "s") == settings);
}

TEST_CASE("a file with another version or unknown keys is rejected") {
  CHECK_THROWS_WITH(settings_from_yaml("unstarve: 2", "f.yaml"),
                    Catch::Contains("version 2") && Catch::Contains("f.yaml"));
  CHECK_THROWS_WITH(settings_from_yaml("{}", "f.yaml"), Catch::Contains("version 0"));
  CHECK_THROWS_WITH(settings_from_yaml("unstarve: 1\ntrain: {modell: x}", "f.yaml"),
                    Catch::Contains("f.yaml.train.modell: line 2"));
  CHECK_THROWS_WITH(settings_from_yaml("unstarve: 1\ntrain: {precision: float7}", "f.yaml"), Catch::Contains("float7"));
  CHECK_THROWS_AS(load_settings("/no/such/file.yaml"), Error);
}

TEST_CASE("an error lists all faults of a file with their paths") {
  const std::string text =
      "unstarve: 1\n"
      "pipeline: {batch: {sise: 3}}\n"
      "train:\n"
      "  classes: many\n"
      "  optimiser: {name: sdg, momentum: high, beta: 1}\n"
      "  schedule: linear\n"
      "  modle: resnet18\n"
      "host: {allocator: malloc, huge_page: true}\n"
      "trian: {}\n";
  try {
    (void)settings_from_yaml(text, "f.yaml");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInput);
    const std::string message = error.what();
    for (const char* fault :
         {"f.yaml.pipeline.batch.sise: line 2", "f.yaml.train.classes: line 4", "f.yaml.train.optimiser.name: line 5",
          "f.yaml.train.optimiser.momentum: line 5", "f.yaml.train.optimiser.beta: line 5: unknown key",
          "f.yaml.train.schedule: line 6", "f.yaml.train.modle: line 7: unknown key", "f.yaml.host.allocator: line 8",
          "f.yaml.host.huge_page: line 8: unknown key", "f.yaml.trian: line 9: unknown key"})
      CHECK_THAT(message, Catch::Contains(fault));
    CHECK(std::count(message.begin(), message.end(), '\n') == 9);
  }
}

TEST_CASE("defaults depend on the data") {
  const auto thumbnails = open_dataset("synthetic:classes=7,images=20,size=32,seed=1");
  const Settings small = default_settings({"p", ""}, *thumbnails);
  CHECK(small.train.model == "cifar_net");
  CHECK(small.train.image_size == 32);
  CHECK(small.train.classes == 7);
  CHECK(small.pipeline.operations[0].name == "pad_crop");
  const auto photographs = open_dataset("synthetic:classes=3,images=2000,size=300,seed=1");
  const Settings large = default_settings({"p", ""}, *photographs, {"", "emulated:h100-resnet50"});
  CHECK(large.train.image_size == 224);
  CHECK(large.pipeline.batch.size == 400);
  // A dataset smaller than the usual batch is one batch.
  const auto few = open_dataset("synthetic:classes=3,images=20,size=300,seed=1");
  CHECK(default_settings({"p", ""}, *few, {"", "emulated:h100-resnet50"}).pipeline.batch.size == 20);
  TrainChoice shared;
  shared.ranks = 3;
  CHECK(default_settings({"p", ""}, *few, shared).pipeline.batch.size == 6);  // and one of each rank, if ranks share it
  CHECK(large.pipeline.operations[0].name == "random_resized_crop");
  // A small size shrinks photographs: it does not cut a small window out of them.
  CHECK(default_settings({"p", ""}, *photographs, {"", "cpu", 32}).pipeline.operations[0].name ==
        "random_resized_crop");
  CHECK(default_settings({"p", ""}, *thumbnails, {"", "cpu", 28}).pipeline.operations[0].name == "random_resized_crop");
}

TEST_CASE("the augmentation selects the operations of training") {
  const auto names = [](const std::string& data, Augmentation augmentation) {
    std::vector<std::string> result;
    const auto dataset = open_dataset(data);
    for (const OpSpec& operation :
         default_settings({"p", ""}, *dataset, {"", "cpu", 0, augmentation}).pipeline.operations)
      result.push_back(operation.name + to_text(operation.params));
    return result;
  };
  using Names = std::vector<std::string>;
  const std::string thumbnails = "synthetic:classes=3,images=20,size=32,seed=1";
  const std::string photographs = "synthetic:classes=3,images=20,size=300,seed=1";
  CHECK(names(thumbnails, Augmentation::kStandard) ==
        Names{"pad_crop padding=4 size=32", "horizontal_flip probability=0.5"});
  CHECK(names(thumbnails, Augmentation::kAlternating) ==
        Names{"pad_crop padding=2 padding_mode=reflect size=32", "alternating_flip"});
  CHECK(names(photographs, Augmentation::kAlternating) == Names{"random_resized_crop size=224", "alternating_flip"});
}

TEST_CASE("pipeline.device must match the training device and is reset when the device changes") {
  Settings settings;
  settings.train.device = settings.pipeline.device.name = "cuda:1";
  settings.pipeline.device.operations = OperationsOn::kDevice;
  settings.pipeline.device.decode = DecodeOn::kHybrid;
  CHECK(settings_from_yaml(to_yaml(settings), "s") == settings);
  Settings elsewhere = settings;
  elsewhere.train.device = "cpu";
  CHECK_THROWS_WITH(settings_from_yaml(to_yaml(elsewhere), "s.yaml"),
                    Catch::StartsWith("s.yaml.pipeline.device.name: line ") &&
                        Catch::EndsWith(": cuda:1; expected cpu as in train.device, or no value"));
  const Settings original = settings;
  std::vector<std::string> notices;
  set_notice_sink([&](const std::string& text) { notices.push_back(text); });
  set_device(settings, "cuda:1");
  CHECK(settings == original);
  CHECK(notices.empty());
  set_device(settings, "emulated:h100-resnet50");
  REQUIRE(notices.size() == 1);
  CHECK(notices[0] ==
        "device.operations: device, device.decode: hybrid: ignored, because it is for cuda:1 and the device is "
        "emulated:h100-resnet50");
  CHECK(settings.train.device == "cuda:1");
  CHECK(settings.pipeline.device == DeviceSpec{});
  settings = original;
  set_device(settings, "cpu");
  CHECK(settings.train.device == "cpu");
  CHECK(settings.pipeline.device == DeviceSpec{});
  CHECK(notices.size() == 2);
  // A node without requests is reset without a notice.
  settings.pipeline.device = {.name = "cuda"};
  set_device(settings, "cpu");
  CHECK(settings.pipeline.device == DeviceSpec{});
  CHECK(notices.size() == 2);
  set_notice_sink({});
  // "cuda" equals "cuda:0".
  settings = original;
  settings.train.device = settings.pipeline.device.name = "cuda";
  set_device(settings, "cuda:0");
  CHECK(settings.train.device == "cuda:0");
  CHECK(settings.pipeline.device.operations == OperationsOn::kDevice);
  CHECK(settings_from_yaml(to_yaml(settings), "s") == settings);
}

TEST_CASE("a notice reports device operations that run on the host") {
  std::vector<std::string> notices;
  set_notice_sink([&](const std::string& text) { notices.push_back(text); });
  PipelineSpec spec;
  spec.device.name = "cuda";
  notify_done_on_host(spec);
  CHECK(notices.empty());
  spec.device.operations = OperationsOn::kDevice;
  notify_done_on_host(spec);
  spec.device.decode = DecodeOn::kHybrid;
  notify_done_on_host(spec);
  set_notice_sink({});
  REQUIRE(notices.size() == 2);
  CHECK_THAT(notices[0], Catch::Contains("device.operations: device: runs on the host here, with bit-equal results"));
  CHECK_THAT(notices[1], Catch::Contains("device.decode: hybrid: runs on the host here, with the host's decoder"));
}

TEST_CASE("the learning rate follows the batch by the rule of the optimiser") {
  CHECK(scaling_rule(OptimiserName::kSgd) == ScalingRule::kLinear);
  CHECK(scaling_rule(OptimiserName::kLars) == ScalingRule::kLinear);
  CHECK(scaling_rule(OptimiserName::kAdamw) == ScalingRule::kSquareRoot);
  CHECK(scaling_rule(OptimiserName::kLamb) == ScalingRule::kSquareRoot);
  CHECK(scaled_rate(0.1, 32, 128, ScalingRule::kLinear) == Approx(0.4));
  CHECK(scaled_rate(0.1, 32, 128, ScalingRule::kSquareRoot) == Approx(0.2));
  CHECK(scaled_rate(0.1, 64, 64, ScalingRule::kSquareRoot) == Approx(0.1));
  CHECK(default_rate(OptimiserName::kSgd, 64) == Approx(0.025));
  CHECK(default_rate(OptimiserName::kAdamw, 64) == Approx(0.0005));
  Settings settings;
  settings.pipeline.batch.size = 32;
  settings.train.learning_rate = 0.1;
  settings.train.optimiser.name = OptimiserName::kAdamw;
  set_batch(settings, 128);
  CHECK(settings.pipeline.batch.size == 128);
  CHECK(settings.train.learning_rate == Approx(0.2));
}

}  // namespace
}  // namespace unstarve
