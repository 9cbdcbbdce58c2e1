#include "unstarve/observe/block_bootstrap.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

// Times around `mean` whose deviations last for about ten values.
std::vector<double> times(std::size_t count, double mean, std::uint64_t seed) {
  Random random(seed, 0, 0, 0);
  std::vector<double> result;
  double state = 0;
  for (std::size_t i = 0; i < count; ++i) {
    state = 0.9 * state + random.uniform(-0.1, 0.1);
    result.push_back(mean * std::exp(state));
  }
  return result;
}

TEST_CASE("the interval contains the true ratio in about 95 % of the runs") {
  int contained = 0, significant = 0;
  constexpr int kRuns = 200;
  for (int run = 0; run < kRuns; ++run) {
    const auto before = times(2000, 0.1, static_cast<std::uint64_t>(2 * run)),
               after = times(2000, 0.1, static_cast<std::uint64_t>(2 * run + 1));
    const RatioInterval ratio = ratio_of_rates(after, before);
    CHECK(ratio.low <= ratio.ratio);
    CHECK(ratio.ratio <= ratio.high);
    contained += ratio.low <= 1 && ratio.high >= 1 ? 1 : 0;
    significant += ratio_of_rates(times(2000, 0.13, static_cast<std::uint64_t>(2 * run + 1)), before).high < 1 ? 1 : 0;
  }
  CHECK(contained >= 0.92 * kRuns);
  CHECK(significant >= 0.9 * kRuns);
}

TEST_CASE("rates are compared, not times") {
  const std::vector<double> before(20, 0.1), after(30, 0.2);
  const RatioInterval ratio = ratio_of_rates(after, before);
  CHECK(ratio.ratio == Approx(0.5));
  CHECK(ratio.low == Approx(0.5));
  CHECK(ratio.pairs == 20);
}

TEST_CASE("too few values, or values that are not times") {
  const std::vector<double> good(8, 1), few(7, 1), zero(8, 0);
  CHECK_THROWS_AS(ratio_of_rates(good, few), Error);
  CHECK_THROWS_AS(ratio_of_rates(zero, good), Error);
}

TEST_CASE("a run that becomes slower drifts") {
  std::vector<double> seconds(200, 0.1);
  CHECK_FALSE(drifts(seconds));
  for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] *= 1 + 0.002 * static_cast<double>(i);
  CHECK(drifts(seconds));
  CHECK_FALSE(drifts(std::span(seconds).subspan(0, 10)));
}

}  // namespace
}  // namespace unstarve
