#include "unstarve/jobs/ladder/step_profile.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

TEST_CASE("step parts are summarised; utilisation never exceeds 1") {
  std::vector<StepParts> steps(10);
  for (auto& step : steps) {
    step.wait_ns = 1'000'000;
    step.compute_ns = 3'000'000;
    step.network.forward_ms = 1;
    step.network.backward_ms = 2;
  }
  const auto parts = summarise(steps);
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].name == "wait");
  CHECK(parts[2].name == "backward");
  CHECK(parts[2].mean_ms == Approx(2));
  const auto line = utilisation_over_time(steps, 0, 4);
  REQUIRE(line.size() == 4);
  CHECK(line[0].utilisation == Approx(0.75));
  CHECK(line.back().seconds == Approx(0.04));
  CHECK(utilisation_over_time(steps, 9'000'000)[0].utilisation == 1);
}

}  // namespace
}  // namespace unstarve
