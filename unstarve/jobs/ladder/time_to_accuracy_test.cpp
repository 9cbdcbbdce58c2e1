#include "unstarve/jobs/ladder/run_comparison.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

using Evaluations = std::vector<EvaluationPoint>;

Evaluations points(const std::vector<std::pair<double, double>>& seconds_and_accuracies) {
  Evaluations list;
  for (const auto& [seconds, accuracy] : seconds_and_accuracies) {
    EvaluationPoint point;
    point.seconds = 2 * seconds;  // evaluations take as long as training
    point.training_seconds = seconds;
    point.accuracy = accuracy;
    list.push_back(point);
  }
  return list;
}

TEST_CASE("the time to an accuracy is linear between evaluations and that of the first crossing") {
  const Evaluations run = points({{10, 0.4}, {20, 0.6}, {30, 0.5}, {40, 0.9}});
  CHECK(seconds_to(0.2, run) == Approx(5));
  CHECK(seconds_to(0.4, run) == Approx(10));
  CHECK(seconds_to(0.5, run) == Approx(15));
  CHECK(seconds_to(0.6, run) == Approx(20));
  CHECK(seconds_to(0.7, run) == Approx(35));
  CHECK_FALSE(seconds_to(0.91, run));
  CHECK_FALSE(seconds_to(0.1, {}));
}

TEST_CASE("two runs are compared at the highest accuracy that both reach") {
  const TimesToAccuracy times = times_to_accuracy(points({{10, 0.5}, {20, 0.8}}), points({{8, 0.6}, {16, 0.7}}));
  CHECK(times.accuracy == 0.7);
  CHECK(times.before_s == Approx(10 + 10 * 0.2 / 0.3));
  CHECK(times.after_s == Approx(16));
  CHECK_THROWS_AS(times_to_accuracy(points({{10, 0}}), points({{8, 0.6}})), Error);
  CHECK_THROWS_AS(times_to_accuracy({}, points({{8, 0.6}})), Error);
}

TEST_CASE("for any two runs the times exist, follow the clock, and are swapped with the runs") {
  for (std::uint32_t draw = 0; draw < 500; ++draw) {
    Random random(7, draw, 0, 0);
    const auto run = [&] {
      std::vector<std::pair<double, double>> list;
      double seconds = 0;
      for (std::uint64_t i = 0; i <= random.below(6); ++i)
        list.emplace_back(seconds += random.uniform(0.1, 5), random.uniform(0.05, 1));
      return points(list);
    };
    const Evaluations a = run(), b = run();
    const TimesToAccuracy times = times_to_accuracy(a, b), swapped = times_to_accuracy(b, a);
    CHECK(times.before_s > 0);
    CHECK(times.after_s > 0);
    CHECK(times.before_s <= a.back().training_seconds);
    CHECK(times.after_s <= b.back().training_seconds);
    CHECK(swapped.before_s == times.after_s);
    CHECK(swapped.after_s == times.before_s);
    CHECK(times_to_accuracy(a, a).before_s == times_to_accuracy(a, a).after_s);
    Evaluations slower = b;
    for (EvaluationPoint& point : slower) point.training_seconds *= 3;
    CHECK(times_to_accuracy(a, slower).after_s == Approx(3 * times.after_s));
    // A higher accuracy is not reached earlier.
    const double low = random.uniform(0, 1), high = random.uniform(low, 1);
    if (seconds_to(high, a)) CHECK(seconds_to(low, a).value() <= seconds_to(high, a).value());
  }
}

}  // namespace
}  // namespace unstarve
