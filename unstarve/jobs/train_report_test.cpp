#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/core/json.h"
#include "unstarve/jobs/train.h"

namespace unstarve {

TEST_CASE("the scaling efficiency is that of the training, without evaluations and checkpoints") {
  TrainResult result;
  result.ranks = 2;
  result.history.seconds = 10;
  result.history.training_seconds = 4;
  result.exchange = {20, 2.5, 2};
  const auto ranks = parse_ordered_json(to_json(result)).at("ranks");
  CHECK(ranks.at("efficiency") == 0.5);
  CHECK(ranks.at("exchange_ms") == 125);
  CHECK(ranks.at("exposed_ms") == 100);
  CHECK_THAT(to_text(result), Catch::Contains("scaling efficiency at most 50.0 %"));
}

}  // namespace unstarve
