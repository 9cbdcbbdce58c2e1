#include "unstarve/jobs/tune.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/jobs/ladder/rung.h"
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
  REQUIRE(json["rungs"].size() == 1 + rungs().size());
  for (const auto& rung : json["rungs"])
    for (const char* key :
         {"name", "status", "reason", "batch", "memory_bytes", "step_ms", "samples_per_s", "ratio", "low", "high"})
      CHECK(rung.contains(key));
  const Settings winner = settings_from_yaml(winner_yaml(result, "unstarve tune"), "tuned.yaml");
  CHECK(winner == result.winner);
}

}  // namespace
}  // namespace unstarve
