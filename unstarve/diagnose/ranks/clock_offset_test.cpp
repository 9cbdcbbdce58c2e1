#include "unstarve/diagnose/ranks/clock_offset.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace unstarve {
namespace {

// True ends of steps of 0.1 s, which vary by `vary` of a step.
std::vector<double> ends_of(int steps, double vary, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-vary, vary);
  std::vector<double> ends;
  double now = 1.7e9;
  for (int i = 0; i < steps; ++i) ends.push_back(now += 0.1 * (1 + uniform(random)));
  return ends;
}

// What a clock shows that is ahead by `offset`, gains `drift` and is read up to `jitter` seconds late.
RankSteps seen(const std::vector<double>& ends, double offset, double jitter = 0, double drift = 0, unsigned seed = 2) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> late(0, 1);
  RankSteps steps;
  steps.count = static_cast<std::int64_t>(ends.size());
  steps.rate = 10;
  for (const double end : ends)
    steps.ends_s.push_back(end + offset + jitter * late(random) + drift * (end - ends.front()));
  return steps;
}

TEST_CASE("the offset of two clocks") {
  const std::vector<double> ends = ends_of(100, 0.3);
  for (const double offset : {0.0, 0.002, -0.03, 0.7, -12.5, 3600.0}) {
    const auto found = clock_offset(seen(ends, 0), seen(ends, offset));
    REQUIRE(found);
    CHECK(found->seconds == Approx(offset).margin(1e-6));
    CHECK(found->spread_s < 1e-6);
    CHECK(found->drift == Approx(0).margin(1e-6));
    CHECK(found->steps == 100);
    CHECK(found->step_s == Approx(0.1).margin(0.02));
    CHECK(found->synchronised);
  }
}

TEST_CASE("jitter of the ends appears as spread") {
  const std::vector<double> ends = ends_of(400, 0.2);
  const auto found = clock_offset(seen(ends, 0, 0.004, 0, 5), seen(ends, 0.5, 0.004, 0, 6));
  REQUIRE(found);
  CHECK(found->seconds == Approx(0.5).margin(0.0005));
  CHECK(found->spread_s > 0.0005);
  CHECK(found->spread_s < 0.004);
  CHECK(found->synchronised);
}

TEST_CASE("drift of a clock") {
  const std::vector<double> ends = ends_of(1000, 0.2);
  const auto found = clock_offset(seen(ends, 0), seen(ends, 0.2, 0.001, 5e-5));
  REQUIRE(found);
  CHECK(found->drift == Approx(5e-5).margin(5e-6));
  CHECK(found->spread_s < 0.001);  // without drift
  CHECK(found->synchronised);
}

TEST_CASE("steps that one rank has not marked") {
  const std::vector<double> ends = ends_of(200, 0.3);
  RankSteps second = seen(ends, 0.25);
  for (const int missing : {150, 120, 30}) second.ends_s.erase(second.ends_s.begin() + missing);
  second.count -= 3;
  const auto found = clock_offset(seen(ends, 0), second);
  REQUIRE(found);
  CHECK(found->seconds == Approx(0.25).margin(1e-6));
  CHECK(found->steps == 197);
  CHECK(found->synchronised);
}

TEST_CASE("a rank that began to count later") {
  const std::vector<double> ends = ends_of(200, 0.3);
  RankSteps second = seen({ends.begin() + 17, ends.end()}, 40);
  const auto found = clock_offset(seen(ends, 0), second);
  REQUIRE(found);
  CHECK(found->seconds == Approx(40).margin(1e-6));
  CHECK(found->steps == 183);
  CHECK(clock_offset(second, seen(ends, 0))->seconds == Approx(-40).margin(1e-6));
  // Only the latest ends are kept.
  RankSteps latest = seen(ends, 0);
  latest.ends_s.erase(latest.ends_s.begin(), latest.ends_s.begin() + 150);
  CHECK(clock_offset(latest, seen(ends, 1))->seconds == Approx(1).margin(1e-6));
}

TEST_CASE("ranks that do not synchronise in every step") {
  const auto apart = clock_offset(seen(ends_of(300, 0.3, 1), 0), seen(ends_of(300, 0.3, 9), 0));
  if (apart) CHECK_FALSE(apart->synchronised);
  RankSteps slower = seen(ends_of(300, 0), 0);
  for (std::size_t i = 0; i < slower.ends_s.size(); ++i) slower.ends_s[i] += 0.02 * static_cast<double>(i);
  const auto rates = clock_offset(seen(ends_of(300, 0), 0), slower);
  if (rates) CHECK_FALSE(rates->synchronised);
  // Every tenth step is an exchange; between them the ranks wander.
  const std::vector<double> ends = ends_of(400, 0);
  RankSteps wander = seen(ends, 0);
  for (std::size_t i = 0; i < wander.ends_s.size(); ++i) wander.ends_s[i] += 0.008 * static_cast<double>(i % 10);
  const auto local = clock_offset(seen(ends, 0), wander);
  REQUIRE(local);
  CHECK_FALSE(local->synchronised);
}

TEST_CASE("too few steps, and steps without length") {
  const std::vector<double> ends = ends_of(7, 0.1);
  CHECK_FALSE(clock_offset(seen(ends, 0), seen(ends, 0)));
  CHECK_FALSE(clock_offset({}, seen(ends_of(50, 0), 0)));
  RankSteps same;
  same.count = 20;
  same.ends_s.assign(20, 5.0);
  CHECK_FALSE(clock_offset(same, same));
}

}  // namespace
}  // namespace unstarve
