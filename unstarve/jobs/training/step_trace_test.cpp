#include "unstarve/jobs/training/step_trace.h"
#include "unstarve/core/json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <vector>

namespace unstarve {
namespace {

TEST_CASE("steps of a trace are spans of the loop and of the exchange") {
  TracedStep step;
  step.step = 3;
  step.begin_s = 2;
  step.wait_s = 0.25;
  step.step_s = 0.5;
  step.spans = {{"forward", false, 0, 10}, {"exchange bucket 0", true, 4, 6}};
  const nlohmann::json trace = parse_json(step_trace(std::vector{step, TracedStep{}}));
  const nlohmann::json& events = trace.at("traceEvents");
  REQUIRE(events.size() == 4);
  CHECK(events[0].at("name") == "wait for batch");
  CHECK(events[0].at("ts") == 2e6);
  CHECK(events[0].at("dur") == 0.25e6);
  CHECK(events[1].at("name") == "forward");
  CHECK(events[1].at("tid") == "training");
  CHECK(events[1].at("ts") == 2.5e6);
  CHECK(events[1].at("dur") == 10'000);
  CHECK(events[2].at("tid") == "exchange");
  CHECK(events[2].at("ts") == 2'504'000);
  CHECK(events[2].at("args").at("step") == 3);
  CHECK(parse_json(step_trace({})).at("traceEvents").empty());
}

}  // namespace
}  // namespace unstarve
