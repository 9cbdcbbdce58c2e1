#include "unstarve/jobs/tune.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/jobs/ladder/ladder_step.h"
#include "unstarve/pipeline/spec/spec_document.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

const char* const kTuneData = "sleep:ms=1,images=4096,size=32";

TEST_CASE("the JSON of tune contains the documented keys") {
  TuneOptions tune;
  tune.device = "emulated:h100-resnet50";
  tune.settings = default_settings({kTuneData, ""}, *open_dataset(kTuneData), {"", tune.device});
  tune.minutes = 0.05;
  const TuneResult result = run_tune(tune);
  const auto json = nlohmann::json::parse(to_json(result));
  CHECK(json["base"].get<double>() > 0);
  CHECK(json["final"].get<double>() > 0);
  REQUIRE(json["rungs"].size() == 2 + ladder_steps().size());
  CHECK(json.contains("over_defaults"));
  CHECK(json["total"]["ratio"] == json["rungs"].back()["relative"]);
  for (const auto& step : json["rungs"])
    for (const char* key :
         {"name", "status", "reason", "batch", "memory_bytes", "step_ms", "samples_per_s", "ratio", "low", "high"})
      CHECK(step.contains(key));
  // The file has the pipeline only: an emulated accelerator does not determine precision and layout of a network.
  const std::string yaml = winner_yaml(result, "unstarve tune");
  CHECK(yaml.find("train:") == std::string::npos);
  CHECK(read_spec_document(yaml, "tuned.yaml").pipeline == result.winner.pipeline);
}

TEST_CASE("the settings file of a real device has the network's settings") {
  TuneResult result;
  result.winner = default_settings({kTuneData, ""}, *open_dataset(kTuneData));
  CHECK(settings_from_yaml(winner_yaml(result, "unstarve tune"), "tuned.yaml") == result.winner);
}

TEST_CASE("the verdict recommends the defaults unless the kept steps are faster") {
  const RatioInterval base{2, 1.9, 2.1, 8};
  CHECK_THAT(verdict_of(base, {}, false), Catch::StartsWith("defaults are best: no step was kept"));
  CHECK_THAT(verdict_of(base, {0.55, 0.5, 0.6, 8}, false),
             Catch::StartsWith("defaults are best: the kept steps reach 0.55"));
  CHECK_THAT(verdict_of(base, {1.01, 0.9, 1.1, 8}, false), Catch::Contains("more --minutes"));
  CHECK_THAT(verdict_of(base, {1, 0.998, 1.002, 8}, false), !Catch::Contains("--minutes"));
  const std::string tuned = verdict_of(base, {1.2, 1.1, 1.3, 8}, true);
  CHECK_THAT(tuned, Catch::Contains("1.20 [1.10, 1.30] times the defaults"));
  CHECK_THAT(tuned, Catch::Contains("2.00 [1.90, 2.10] times the plain baseline"));
}

}  // namespace
}  // namespace unstarve
