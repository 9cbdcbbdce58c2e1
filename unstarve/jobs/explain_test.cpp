#include "unstarve/jobs/explain.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

using Catch::Contains;

constexpr const char* kExplainData = "synthetic:classes=7,images=100,size=64,seed=1";

Settings some_settings() {
  Settings settings;
  settings.pipeline.source = {kExplainData, ""};
  settings.pipeline.operations = training_operations(48, {64, 64});
  settings.pipeline.output.type = ElementType::kUint8;
  settings.pipeline.batch.size = 32;
  return settings;
}

ExplainResult explained(const Settings& settings, const Topology& topology = {8, 8, 0, 1, 1},
                        const std::string& device = "cpu") {
  return explain_settings(settings, device, open_dataset(kExplainData), topology);
}

ExplainedSetting chosen(const ExplainResult& result, const std::string& name) {
  for (const ExplainedSetting& setting : result.chosen)
    if (setting.name == name) return setting;
  return {name, "not reported", ""};
}

TEST_CASE("the result contains sizes, memory and passes of the plan") {
  const ExplainResult result = explained(some_settings());
  CHECK(result.samples == 100);
  CHECK(result.classes == 7);
  CHECK_FALSE(result.encoded);
  CHECK(result.image == Size{64, 64});
  REQUIRE(result.operations.size() == 2);
  CHECK(result.operations[0].input == Size{64, 64});
  CHECK(result.operations[0].output == Size{48, 48});
  CHECK(result.operations[0].random);
  CHECK(result.batches == 3);
  CHECK(result.batch_bytes == 32 * 48 * 48 * 3);
  CHECK(result.memory_bytes == 4 * result.batch_bytes);
  const auto named = [&](const char* name) {
    return std::any_of(result.passes.begin(), result.passes.end(), [&](const PassNote& pass) {
      return pass.name == name && !pass.applied && !pass.reason.empty();
    });
  };
  CHECK(named("crop_into_decode"));
  CHECK(named("scale_into_decode"));
  CHECK(named("cache"));
  // The flip is applied by the store.
  const auto fusion = std::ranges::find(result.passes, "operation_fusion", &PassNote::name);
  REQUIRE(fusion != result.passes.end());
  CHECK(fusion->applied);
  CHECK_THAT(fusion->reason, Contains("1 of 2 operations only crops"));
}

TEST_CASE("the number of threads is reported with its limit") {
  Settings settings = some_settings();
  const auto threads = [&](const Topology& topology) {
    return chosen(explained(settings, topology), "execution.threads");
  };
  CHECK(threads({8, 8, 0, 1, 1}).reason == "initially all usable cores, then autotuned: 8 of 8 CPUs");
  settings.pipeline.execution.cpu_limit = 3;
  CHECK(threads({8, 8, 0, 1, 1}).value == "3");
  CHECK_THAT(threads({8, 8, 0, 1, 1}).reason, Contains("initially execution.cpu_limit 3"));
  CHECK_THAT(chosen(explained(settings), "execution.prefetch").reason, Contains("then autotuned"));
  settings.pipeline.execution = {};
  settings.pipeline.execution.autotune = false;
  CHECK(threads({8, 8, 0, 1, 1}).value == "8");
  CHECK(threads({8, 8, 0, 1, 1}).reason == "all usable cores: 8 of 8 CPUs");
  CHECK(threads({8, 3, 0, 1, 1}).reason == "all usable cores: 3 of 8 CPUs, limited by the affinity mask");
  CHECK(threads({8, 3, 2.5, 1, 1}).reason == "all usable cores: 2 of 8 CPUs, limited by the cgroup quota of 2.5");
  CHECK(threads({8, 3, 16, 1, 1}).value == "3");
  settings.pipeline.execution.threads = 5;
  CHECK(threads({8, 8, 0, 1, 1}).value == "5");
  CHECK_THAT(threads({8, 8, 0, 1, 1}).reason, Contains("as requested"));
}

TEST_CASE("incomplete batches, output and error policy are reported") {
  Settings settings = some_settings();
  CHECK_THAT(chosen(explained(settings), "batch.size").reason,
             Contains("3 per epoch; batch.last: drop omits the last 4 samples"));
  settings.pipeline.batch.last = LastBatch::kKeep;
  CHECK(chosen(explained(settings), "batch.size").reason == "4 per epoch; the last batch has 4");
  CHECK(chosen(explained(settings), "output").value == "uint8 NCHW");
  CHECK(chosen(explained(settings), "execution.read_ahead").value == "0");
  CHECK_THAT(chosen(explained(settings), "execution.read_ahead").reason, Contains("nothing to gain"));
  CHECK(chosen(explained(settings), "cache.what").value == "nothing");
  CHECK(chosen(explained(settings), "cache.what").reason == "no cache is requested");
  settings.pipeline.errors = {OnError::kSkip, 12, 0.1};
  CHECK_THAT(chosen(explained(settings), "errors.policy").reason, Contains("more than 12") && Contains("10.0 %"));
  CHECK(chosen(explained(settings), "execution.pinned").value == "false");
  CHECK(chosen(explained(settings, {8, 8, 0, 1, 1}, "cuda:1"), "execution.pinned").value == "true");
  CHECK(chosen(explained(settings, {8, 8, 0, 1, 1}, "emulated:h100-resnet50"), "execution.pinned").value == "false");
  settings.pipeline.execution.prefetch = 0;
  CHECK_THAT(chosen(explained(settings), "execution.prefetch").reason, Contains("when it is requested"));
}

TEST_CASE("the JSON contains the content of the text, with types") {
  const ExplainResult result = explained(some_settings());
  const auto json = parse_json(to_json(result));
  const auto& pipeline = json["settings"]["pipeline"];
  CHECK(pipeline["source"]["path"] == kExplainData);
  CHECK(pipeline["batch"]["size"] == 32);
  CHECK(pipeline["order"]["shuffle"] == true);
  CHECK(pipeline["operations"][0]["random_resized_crop"]["size"] == 48);
  CHECK(json["settings"]["train"]["optimiser"]["weight_decay"] == 5e-4);
  CHECK(json["plan"]["operations"][0]["output"] == nlohmann::json::array({48, 48}));
  CHECK(json["passes"].size() == result.passes.size());
  CHECK(json["chosen"].size() == result.chosen.size());
  const std::string text = to_text(result);
  for (const PassNote& pass : result.passes) CHECK_THAT(text, Contains(pass.name) && Contains(pass.reason));
  for (const ExplainedSetting& setting : result.chosen) CHECK_THAT(text, Contains(setting.reason));
}

TEST_CASE("the summary has ten lines") {
  const std::string text = to_summary(explained(some_settings()));
  CHECK(std::ranges::count(text, '\n') == 10);
  CHECK_THAT(text, Contains("samples") && Contains("passes"));
}

TEST_CASE("a path that looks like a number stays text in the JSON") {
  Settings settings = some_settings();
  settings.pipeline.source = {"17", "true"};
  const auto json = parse_json(to_json(explained(settings)));
  CHECK(json["settings"]["pipeline"]["source"]["path"] == "17");
  CHECK(json["settings"]["pipeline"]["source"]["split"] == "true");
}

}  // namespace
}  // namespace unstarve
