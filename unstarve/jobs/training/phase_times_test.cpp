#include "unstarve/jobs/training/phase_times.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

// Epochs of 100 samples in batches of 10: one of 50 px with half of them, one of 50 px, one of 100 px with weak
// augmentation, two full ones at 10 samples/s.
const std::vector<TrainPhase> kPhases{
    {0, 1, {50, 1, 0.5}}, {1, 1, {50, 1, 1}}, {2, 1, {100, 0.5, 1}}, {3, 2, {100, 1, 1}}};
const EpochSteps kSteps(10, {5});

TrainHistory history() {
  TrainHistory history;
  history.epochs = {{0, 5, 50, 2, 1}, {1, 10, 100, 4, 1}, {2, 10, 100, 8, 0}, {3, 10, 100, 9, 0}, {4, 10, 100, 11, 2}};
  history.steps = 45;
  history.evaluations = {{5, 3, 2, 0.1, 2}, {15, 8, 6, 0.2, 2}, {35, 30, 23, 0.4, 1}, {45, 40, 34, 0.6, 1}};
  return history;
}

}  // namespace

TEST_CASE("the times of a phase are those of its epochs, with its last evaluation") {
  const std::vector<PhaseTimes> times = times_of(kPhases, history(), kSteps);
  REQUIRE(times.size() == 4);
  CHECK(times[0].steps == 5);
  CHECK(times[0].full_samples == 100);
  CHECK(times[0].accuracy == 0.1);
  CHECK(times[1].samples_per_s() == 25);
  CHECK_FALSE(times[2].accuracy);
  CHECK(times[3].steps == 20);
  CHECK(times[3].seconds == 20);
  CHECK(times[3].wait_seconds == 2);
  CHECK(times[3].accuracy == 0.6);
}

TEST_CASE("the effect is split among the schedules and adds up") {
  const auto times = times_of(kPhases, history(), kSteps);
  const std::optional<ProgressiveEffect> effect = effect_of(times, 100);
  REQUIRE(effect);
  CHECK(effect->full_rate == 10);
  CHECK(effect->full_rate_measured);
  CHECK(effect->seconds == 34);
  CHECK(effect->seconds_without == 50);
  CHECK(effect->saved_by_samples == Approx(5));
  CHECK(effect->saved_by_image_size == Approx(3 + 6));
  CHECK(effect->saved_by_augmentation == Approx(2));
  CHECK(effect->saved_by_samples + effect->saved_by_image_size + effect->saved_by_augmentation ==
        Approx(effect->seconds_without - effect->seconds));
}

TEST_CASE("a run that ended before the full values has an estimated rate, by the pixels of its last phase") {
  TrainHistory stopped = history();
  stopped.epochs.resize(2);
  stopped.steps = 15;
  const std::optional<ProgressiveEffect> effect = effect_of(times_of(kPhases, stopped, kSteps), 100);
  REQUIRE(effect);
  CHECK_FALSE(effect->full_rate_measured);
  CHECK(effect->full_rate == Approx(25.0 / 4));
  CHECK(effect->seconds_without == Approx(32));
}

TEST_CASE("a resumed run has only its own phases") {
  TrainHistory resumed = history();
  resumed.epochs.erase(resumed.epochs.begin(), resumed.epochs.begin() + 3);
  resumed.evaluations = {{35, 30, 23, 0.4, 1}};
  const auto times = times_of(kPhases, resumed, kSteps);
  CHECK(times[0].steps == 0);
  CHECK_FALSE(times[0].accuracy);
  CHECK(times[3].accuracy == 0.4);
  CHECK(effect_of(times, 100)->seconds == 20);
  CHECK_FALSE(effect_of(times_of(kPhases, TrainHistory(), kSteps), 100));
}

}  // namespace unstarve
