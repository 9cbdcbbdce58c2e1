#include "unstarve/diagnose/profile/long_steps.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

TEST_CASE("steps that take much longer than the others") {
  std::vector<double> seconds(100, 0.01);
  CHECK(long_steps(seconds, 3).indexes.empty());
  CHECK(long_steps(seconds, 3).share == 0);
  CHECK(long_steps({}, 3).indexes.empty());
  for (const std::size_t step : {10, 35, 60, 85}) seconds[step] = 0.61;
  const LongSteps steps = long_steps(seconds, 3);
  CHECK(steps.indexes == std::vector<std::size_t>{10, 35, 60, 85});
  CHECK(steps.period == 25);
  CHECK(steps.median_s == Approx(0.01));
  CHECK(steps.excess_s == Approx(2.4));
  CHECK(steps.share == Approx(2.4 / 3.4));
  seconds[86] = 0.61;
  CHECK(long_steps(seconds, 3).period == 0);
}

}  // namespace
}  // namespace unstarve
