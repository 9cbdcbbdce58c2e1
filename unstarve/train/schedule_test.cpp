#include "unstarve/train/schedule.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

namespace unstarve {
namespace {

TrainSettings with(ScheduleName name, double warmup) {
  TrainSettings settings;
  settings.learning_rate = 0.4;
  settings.schedule.name = name;
  settings.schedule.warmup = warmup;
  return settings;
}

constexpr std::int64_t kTotal = 100;

}  // namespace

TEST_CASE("the learning rate rises to its peak, falls linearly and is never zero or above the peak") {
  const TrainSettings settings = with(ScheduleName::kLinear, 0.2);
  CHECK(scheduled_rate(settings, 0, kTotal) == Approx(0.4 / 20));
  CHECK(scheduled_rate(settings, 9, kTotal) == Approx(0.2));
  CHECK(scheduled_rate(settings, 19, kTotal) == Approx(0.4));
  CHECK(scheduled_rate(settings, 60, kTotal) == Approx(0.2));
  CHECK(scheduled_rate(settings, 99, kTotal) == Approx(0.4 / 80));
}

TEST_CASE("every schedule reaches its peak after the warm-up and stays between 0 and the peak") {
  for (const auto name : {ScheduleName::kConstant, ScheduleName::kLinear, ScheduleName::kCosine,
                          ScheduleName::kPolynomial, ScheduleName::kStep, ScheduleName::kOneCycle}) {
    CAPTURE(static_cast<int>(name));
    for (const double warmup : {0.0, 0.1, 0.5, 0.99}) {
      const TrainSettings settings = with(name, warmup);
      const auto rising = std::max<std::int64_t>(1, std::llround(warmup * kTotal));
      CHECK(scheduled_rate(settings, rising - 1, kTotal) == Approx(0.4));
      for (std::int64_t step = 0; step < kTotal; ++step) {
        CHECK(scheduled_rate(settings, step, kTotal) > 0);
        CHECK(scheduled_rate(settings, step, kTotal) <= 0.4 * (1 + 1e-12));
      }
    }
  }
}

TEST_CASE("schedules follow their formulas") {
  const auto rate = [](const TrainSettings& settings, std::int64_t step) {
    return scheduled_rate(settings, step, kTotal) / settings.learning_rate;
  };
  CHECK(rate(with(ScheduleName::kConstant, 0.2), 99) == 1);
  TrainSettings settings = with(ScheduleName::kCosine, 0.2);
  CHECK(rate(settings, 60) == Approx(0.5));
  CHECK(rate(settings, 40) == Approx((1 + std::cos(0.25 * 3.14159265358979)) / 2));
  settings.schedule.final_share = 0.1;
  CHECK(rate(settings, 60) == Approx(0.55));
  settings = with(ScheduleName::kPolynomial, 0.2);
  CHECK(rate(settings, 60) == Approx(0.25));
  settings.schedule.power = 1;
  CHECK(rate(settings, 60) == Approx(0.5));
  settings = with(ScheduleName::kStep, 0);
  settings.schedule.at = {0.3, 0.6};
  CHECK(rate(settings, 29) == 1);
  CHECK(rate(settings, 30) == Approx(0.1));
  CHECK(rate(settings, 60) == Approx(0.01));
  settings = with(ScheduleName::kOneCycle, 0.3);
  CHECK(rate(settings, 0) < 0.05);
  CHECK(rate(settings, 99) < 0.001);
}

TEST_CASE("the warm-up begins at its initial share") {
  TrainSettings settings = with(ScheduleName::kLinear, 0.2);
  settings.schedule.initial_share = 0.2;
  settings.schedule.final_share = 0.07;
  CHECK(scheduled_rate(settings, 0, kTotal) == Approx(0.4 * (0.2 + 0.8 / 20)));
  CHECK(scheduled_rate(settings, 9, kTotal) == Approx(0.4 * 0.6));
  CHECK(scheduled_rate(settings, 19, kTotal) == 0.4);
  CHECK(scheduled_rate(settings, 60, kTotal) == Approx(0.4 * (0.07 + 0.93 / 2)));
  CHECK(scheduled_rate(settings, 99, kTotal) == Approx(0.4 * (0.07 + 0.93 / 80)));
  const TrainSettings cycle = with(ScheduleName::kOneCycle, 0.2);
  settings.schedule.name = ScheduleName::kOneCycle;
  CHECK(scheduled_rate(settings, 3, kTotal) == scheduled_rate(cycle, 3, kTotal));
}

TEST_CASE("without warm-up the first step, or a single step, has the peak rate") {
  const TrainSettings settings = with(ScheduleName::kLinear, 0);
  CHECK(scheduled_rate(settings, 0, 10) == settings.learning_rate);
  CHECK(scheduled_rate(settings, 0, 1) == settings.learning_rate);
  CHECK(scheduled_rate(settings, 5, 0) > 0);
}

}  // namespace unstarve
