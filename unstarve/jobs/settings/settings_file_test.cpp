#include "unstarve/jobs/settings/settings_file.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/jobs/settings/recipes.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/spec/faults.h"
#include "unstarve/pipeline/spec/spec_yaml.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

using Catch::Contains;

constexpr const char* kData = "synthetic:classes=7,images=100,size=64,seed=1";

// A file with this text, in a new folder.
class File {
 public:
  File(const std::string& name, const std::string& text) : path_(folder() / name) {
    std::filesystem::create_directories(folder());
    write_file_atomically(path_, text);
  }
  ~File() { std::filesystem::remove_all(folder()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  static std::filesystem::path folder() {
    return std::filesystem::temp_directory_path() / "unstarve-settings-file-test";
  }
  std::filesystem::path path_;
};

TEST_CASE("a spec is recognised by its name and keys") {
  CHECK(detect_spec(File("a.yaml", "unstarve: 1\npipeline: {}\n").path()).kind == SpecKind::kSettings);
  CHECK(detect_spec(File("a.yml", "source: {path: x}\n").path()).kind == SpecKind::kPipeline);
  CHECK(detect_spec(File("a.csv", "source: {path: x}\n").path()).kind == SpecKind::kNone);
  CHECK(detect_spec(File("a.csv", "source: {path: x}\n").path()).reason.empty());
  CHECK(detect_spec("no/such.yaml").kind == SpecKind::kNone);
  CHECK(detect_spec("no/such.yaml").reason.empty());
  CHECK(detect_spec(kData).kind == SpecKind::kNone);
  CHECK(detect_spec(std::filesystem::temp_directory_path().string()).kind == SpecKind::kNone);
  const SpecFile other = detect_spec(File("a.yaml", "batch: {size: 3}\n").path());
  CHECK(other.kind == SpecKind::kNone);
  CHECK_THAT(other.reason, Contains("a.yaml: no key"));
  for (const char* text : {"a: [1", "- source\n", "source", "", "\x89PNG\r\n\x1a\n\0\1\2"}) {
    const SpecFile none = detect_spec(File("a.yaml", text).path());
    CHECK(none.kind == SpecKind::kNone);
    CHECK_THAT(none.reason, Contains("a.yaml: "));
  }
}

TEST_CASE("both kinds of spec give a pipeline; errors name the key") {
  PipelineSpec spec;
  spec.source = {kData, ""};
  spec.operations = training_operations(48, {64, 64});
  CHECK(load_pipeline(File("a.yaml", to_yaml(spec)).path()) == spec);
  Settings settings;
  settings.pipeline = spec;
  CHECK(load_pipeline(File("a.yaml", to_yaml(settings)).path()) == spec);

  const auto wrong = [](const std::string& text) {
    try {
      (void)load_pipeline(File("a.yaml", text).path());
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
      return std::string(error.what());
    }
    return std::string("taken");
  };
  CHECK_THAT(wrong("source: {path: x}\nbatch: {sise: 1}"), Contains("a.yaml.batch.sise: line 2: unknown key"));
  CHECK_THAT(wrong("source: {path: x}\nbatch: {size: 0}"),
             Contains("a.yaml.batch.size: line 2: 0; expected 1 or more"));
  CHECK_THAT(wrong("source: {path: x}\noperations: [swirl]"),
             Contains("a.yaml.operations[0]: line 2: unknown operation"));
  CHECK_THAT(wrong("source: {path: x}\nbatsh: {size: 1}"),
             Contains("a.yaml.batsh: line 2: unknown key") && Catch::EndsWith(". Did you mean 'batch'?"));
  CHECK_THAT(wrong("source: {path: x}\nexecution: {memory_limit: 1}"), Catch::EndsWith("mean 'memory_limit_mb'?"));
  CHECK_THAT(wrong("source: {path: x}\noperations: [resizee: {size: 8}]"), Catch::EndsWith("mean 'resize'?"));
  CHECK_THAT(wrong("source: {path: x}\noperations: [random_rotation]"),
             Contains("a.yaml.operations: line 2: operation random_rotation: found no degrees"));
  const PipelineSpec familiar =
      load_pipeline(File("a.yaml", "source: {path: x}\noperations: [random_crop: {size: 32}, flip: {p: 1}]").path());
  REQUIRE(familiar.operations.size() == 2);
  CHECK(familiar.operations[0] == OpSpec{"pad_crop", {{"size", {32}}, {"padding", {0}}}});
  CHECK(familiar.operations[1] == OpSpec{"horizontal_flip", {{"probability", {1}}}});
  CHECK_FALSE(has_output(File("a.yaml", "source: {path: x}").path()));
  CHECK(has_output(File("a.yaml", "source: {path: x}\noutput: {type: uint8}").path()));
  CHECK(has_output(File("a.yaml", "pipeline: {source: {path: x}, output: {type: uint8}}").path()));
  CHECK_THAT(wrong("source: {split: x}"), Contains("a.yaml.source.path: line 1: missing"));
  CHECK_THAT(wrong("unstarve: 1\npipeline: {}"), Contains("a.yaml.pipeline.source.path: missing"));
  CHECK_THAT(wrong("unstarve: 1\npipeline: {execution: {threads: 5000}}"),
             Contains("a.yaml.pipeline.execution.threads: line 2: 5000; expected 0 to 1024"));
  CHECK_THAT(wrong("unstarve: 1\npipeline: {}\ntrain: {image_size: 3}"),
             Contains("a.yaml.train.image_size: line 3: found 3"));
}

TEST_CASE("a file with another optimiser and without a learning rate has the default of this optimiser") {
  const auto rate = [](const std::string& keys) {
    return settings_from_yaml("unstarve: 1\npipeline: {source: {path: p}, batch: {size: 64}}\n" + keys, "f.yaml")
        .train.learning_rate;
  };
  CHECK(rate("train: {optimiser: {name: adamw}}\n") == Approx(0.0005));
  CHECK(rate("train: {optimiser: {name: adamw}, learning_rate: 0.3}\n") == 0.3);
  CHECK(rate("recipe: cifar-speed\ntrain: {optimiser: {name: lars}}\n") == Approx(0.25));
  CHECK(rate("recipe: cifar-speed\n") == 1.5);
}

TEST_CASE("the training settings of a bare pipeline fit its output") {
  const auto data = open_dataset(kData);
  PipelineSpec spec;
  spec.source = {kData, ""};
  spec.operations = {{"resize", {{"size", {40}}}}, {"center_crop", {{"size", {24}}}}};
  spec.batch.size = 64;
  Settings settings = settings_for(spec, *data, "", "cpu");
  CHECK(settings.pipeline == spec);
  CHECK(settings.train.image_size == 24);
  CHECK(settings.train.model == "cifar_net");
  CHECK(settings.train.classes == 7);
  CHECK(settings.train.learning_rate == Approx(0.1 * 64 / 256));
  spec.operations.clear();
  settings = settings_for(spec, *data, "", "cpu");
  CHECK(settings.train.image_size == 64);
  CHECK(settings.train.model == "resnet18");
  CHECK(settings_for(spec, *data, "mobilenet_v2", "cpu").train.model == "mobilenet_v2");
}

TEST_CASE("the training settings of a bare pipeline may begin with a recipe") {
  const auto data = open_dataset("synthetic:classes=7,images=2000,size=32,seed=1");
  PipelineSpec spec;
  spec.source = {kData, ""};
  spec.operations = {{"center_crop", {{"size", {32}}}}};
  spec.batch.size = 256;
  const Settings settings = settings_for(spec, *data, "", "cpu", "cifar-speed");
  CHECK(settings.pipeline == spec);
  CHECK(settings.recipe == "cifar-speed");
  CHECK(settings.train.model == "cifar_speed");
  CHECK(settings.train.learning_rate == Approx(1.5 / 4));
  CHECK(settings_for(spec, *data, "cifar_net", "cpu", "cifar-speed").train.model == "cifar_net");
  const File file("a.yaml", "unstarve: 1\nrecipe: cifar-speed\npipeline: {source: {path: x}}\n");
  CHECK(load_pipeline(file.path()).operations.back().name == "alternating_flip");
}

TEST_CASE("the training settings of a bare pipeline use an image within its pixel limit") {
  PipelineSpec spec;
  spec.source = {"photographs", ""};
  const JpegSet photographs(3);
  CHECK(settings_for(spec, photographs, "", "cpu").train.image_size >= 40);
  spec.decode.max_pixels = 40 * 40 - 1;
  CHECK_THROWS_WITH(settings_for(spec, photographs, "", "cpu"),
                    Contains("no readable sample") && Contains("too large"));
}

TEST_CASE("settings with faults are read as far as possible") {
  const File file("a.yaml",
                  "unstarve: 1\npipeline: {source: {path: x}, batch: {size: 0}}\ntrain:\n  classes: many\n"
                  "  learning_rate: -1\n  qat: {begin: 0.1, freeze: 0.2}\n  optimiser: {beta1: 0.5}\n"
                  "host: {affinity: split, allocator: none}\n");
  Faults faults;
  const SettingsFile found = read_settings_file(file.path(), "", faults);
  CHECK_THROWS_WITH(faults.throw_if_any(), Contains("batch.size: line 2") && Contains("train.classes: line 4") &&
                                               Contains("train.learning_rate: line 5: found -1") &&
                                               Contains("host.allocator: line 8"));
  CHECK(found.settings.pipeline == PipelineSpec());
  CHECK(found.settings.train.classes == TrainSettings().classes);
  CHECK(found.settings.train.learning_rate == TrainSettings().learning_rate);
  CHECK(found.settings.train.qat.freeze == 0.2);
  CHECK(found.settings.host.affinity == Affinity::kSplit);
  CHECK(found.unused.empty());  // of a file without faults only
}

TEST_CASE("a key without effect is listed, unless its value is a default or that of a recipe") {
  const auto unused = [](const std::string& text, const std::string& recipe = "") {
    const File file("a.yaml", text);
    Faults faults;
    std::vector<std::string> lines;
    for (const UnusedKey& key : read_settings_file(file.path(), recipe, faults).unused) lines.push_back(key.fault);
    faults.throw_if_any();
    return lines;
  };
  const std::vector<std::string> lines =
      unused("unstarve: 1\ntrain:\n  optimiser: {beta1: 0.8, beta2: 0.999}\n  schedule: {at: [0.5], factor: 0.1}\n");
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], Contains("a.yaml.train.optimiser.beta1: line 3: no effect with optimiser.name sgd; expected"));
  CHECK_THAT(lines[1],
             Contains("a.yaml.train.schedule.at: line 4: no effect with schedule.name linear; expected step"));
  CHECK(unused("unstarve: 1\ntrain: {optimiser: {name: lamb, beta1: 0.8}, schedule: {name: step, at: 0.5}}\n").empty());
  // What the program writes is accepted, also with another optimiser and recipe.
  for (const Recipe& recipe : recipes()) {
    Settings settings = settings_of(recipe);
    settings.train.optimiser.name = OptimiserName::kAdamw;
    settings.train.schedule.name = ScheduleName::kOneCycle;
    settings.train.lookahead.every = 0;
    settings.train.progressive.image_size = 0;
    settings.train.model = "resnet18";
    for (const Recipe& other : recipes()) CHECK(unused(to_yaml(settings), std::string(other.name)).empty());
    settings.recipe.clear();
    CHECK(unused(to_yaml(settings)).empty());
  }
}

}  // namespace
}  // namespace unstarve
