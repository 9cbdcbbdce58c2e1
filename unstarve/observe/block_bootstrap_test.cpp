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
  CHECK_FALSE(drift_of(seconds).has_value());
  for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] *= 1 + 0.002 * static_cast<double>(i);
  const std::optional<Drift> drift = drift_of(seconds);
  REQUIRE(drift);
  CHECK(drift->parts == 8);
  CHECK(drift->slowest == 8);
  CHECK(drift->fastest == 1);
  CHECK(to_text(*drift) == "steps of part 8 of 8 take 0.137 s on average, those of part 1 0.102 s");
  CHECK_FALSE(drift_of(std::span(seconds).subspan(0, 47)).has_value());
  seconds[7] = 0;
  CHECK_FALSE(drift_of(seconds).has_value());
}

// Relative speeds of a run, by its part from 0 to 1.
double steady(double /*at*/) { return 1; }
double slower(double at) { return 1 + 0.4 * at; }
double slow_fast_slow(double at) { return at < 0.25 || at >= 0.75 ? 1 : 0.6; }
double fast_slow_fast(double at) { return at < 0.3 || at >= 0.7 ? 0.7 : 1; }

// The share of runs in which a drift is found. Deviations of 10 % last for about `1 / (1 - memory)` values.
double found_share(std::size_t count, double memory, double (*speed)(double)) {
  constexpr int kRuns = 200;
  int found = 0;
  for (std::uint64_t run = 0; run < kRuns; ++run) {
    Random random(run, 1, 0, 0);
    std::vector<double> seconds;
    double state = 0;
    const double scale = 0.1 * std::sqrt(3 * (1 - memory * memory));
    for (int i = 0; i < 200; ++i) state = memory * state + random.uniform(-scale, scale);
    for (std::size_t i = 0; i < count; ++i) {
      state = memory * state + random.uniform(-scale, scale);
      seconds.push_back(0.1 * std::exp(state) * speed(static_cast<double>(i) / static_cast<double>(count)));
    }
    found += drift_of(seconds).has_value() ? 1 : 0;
  }
  return static_cast<double>(found) / kRuns;
}

TEST_CASE("a steady run with correlated values does not drift") {
  for (const std::size_t count : {16, 48, 96, 128, 192, 400, 2000})
    for (const double memory : {0.0, 0.5, 0.9, 0.98}) {
      CAPTURE(count, memory);
      CHECK(found_share(count, memory, steady) <= 0.05);
    }
}

TEST_CASE("slow and fast phases are found, at the ends of a run or within it") {
  for (const auto& [count, memory] : {std::pair{192, 0.0}, {400, 0.0}, {400, 0.5}, {2000, 0.5}, {2000, 0.9}}) {
    for (double (*const speed)(double) : {slower, slow_fast_slow, fast_slow_fast}) {
      CAPTURE(count, memory, speed(0), speed(0.5));
      CHECK(found_share(static_cast<std::size_t>(count), memory, speed) >= 0.9);
    }
  }
}

TEST_CASE("pairs of which one side changes drift, those of a changing machine do not") {
  int steady_found = 0, machine_found = 0, changing_found = 0;
  constexpr int kRuns = 200;
  for (std::uint64_t run = 0; run < kRuns; ++run) {
    Random random(run, 2, 0, 0);
    std::vector<double> a, b, slower_a, slower_b, filling;
    for (int pair = 0; pair < 10; ++pair) {
      const double machine = 1 - 0.04 * pair;
      a.push_back(100 * (1 + random.uniform(-0.03, 0.03)));
      b.push_back(130 * (1 + random.uniform(-0.03, 0.03)));
      slower_a.push_back(a.back() * machine);
      slower_b.push_back(b.back() * machine);
      filling.push_back(b.back() * (1 + 0.03 * pair));
    }
    steady_found += pairs_drift(b, a) ? 1 : 0;
    machine_found += pairs_drift(slower_b, slower_a) ? 1 : 0;
    changing_found += pairs_drift(filling, a) ? 1 : 0;
  }
  CHECK(steady_found <= 0.05 * kRuns);
  CHECK(machine_found <= 0.05 * kRuns);
  CHECK(changing_found >= 0.9 * kRuns);
  CHECK_FALSE(pairs_drift(std::vector<double>{1, 2, 3}, std::vector<double>{1, 1, 1}));
  CHECK_FALSE(pairs_drift(std::vector<double>{1, 2, 3, 0}, std::vector<double>{1, 1, 1, 1}));
}

}  // namespace
}  // namespace unstarve
