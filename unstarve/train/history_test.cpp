#include "unstarve/train/history.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

constexpr std::int64_t kOneSecond = 1'000'000'000;

}  // namespace

TEST_CASE("a run may begin with a wait for its data") {
  ManualClock clock;
  clock.advance(5 * kOneSecond);
  HistoryRecorder recorder(clock, 3);
  clock.advance(kOneSecond);
  recorder.add_step(0, 8, 0.5);
  recorder.add_point(1, 2.5, 0.1);
  const TrainHistory history = recorder.finish(1);
  CHECK(history.seconds == Approx(4));
  CHECK(history.wait_seconds == Approx(3.5));
  CHECK(history.points[0].samples_per_s == Approx(2));
  CHECK(history.points[0].wait_share == Approx(3.5 / 4));
  CHECK(history.epochs.at(0).seconds == Approx(4));
  CHECK(history.epochs.at(0).wait_seconds == Approx(3.5));
}

TEST_CASE("points have the rates since the point before, without pauses") {
  ManualClock clock;
  clock.advance(5 * kOneSecond);
  HistoryRecorder recorder(clock);
  clock.advance(4 * kOneSecond);
  recorder.add_step(-1, 8, 1);
  recorder.add_point(1, 2.5, 0.1);
  const double pause_s = recorder.seconds();
  clock.advance(10 * kOneSecond);
  recorder.pause_since(pause_s);
  CHECK(recorder.seconds() == Approx(14));
  CHECK(recorder.training_seconds() == Approx(4));
  clock.advance(2 * kOneSecond);
  recorder.add_step(-1, 8, 0.5);
  recorder.add_point(2, 2, 0.2);
  const TrainHistory history = recorder.finish(2);
  REQUIRE(history.points.size() == 2);
  CHECK(history.points[0].samples_per_s == Approx(2));
  CHECK(history.points[0].wait_share == Approx(0.25));
  CHECK(history.points[1].samples == 16);
  CHECK(history.points[1].seconds == Approx(16));
  CHECK(history.points[1].samples_per_s == Approx(4));
  CHECK(history.points[1].wait_share == Approx(0.25));
  CHECK(history.epochs.empty());
  CHECK(history.steps == 2);
  CHECK(history.seconds == Approx(16));
  CHECK(history.training_seconds == Approx(6));
  CHECK(history.wait_seconds == Approx(1.5));
}

TEST_CASE("the times of an epoch are those of its steps") {
  ManualClock clock;
  HistoryRecorder recorder(clock);
  for (const std::int64_t epoch : {3, 3, 4}) {
    clock.advance(2 * kOneSecond);
    recorder.add_step(epoch, 6, 0.5);
    const double pause_s = recorder.seconds();
    clock.advance(7 * kOneSecond);
    recorder.pause_since(pause_s);
  }
  const std::vector<EpochTimes>& epochs = recorder.history().epochs;
  REQUIRE(epochs.size() == 2);
  CHECK(epochs[0].epoch == 3);
  CHECK(epochs[0].steps == 2);
  CHECK(epochs[0].samples == 12);
  CHECK(epochs[0].seconds == Approx(4));
  CHECK(epochs[0].wait_seconds == Approx(1));
  CHECK(epochs[1].epoch == 4);
  CHECK(epochs[1].seconds == Approx(2));
}

TEST_CASE("the target is reached by the last evaluation, if there is one") {
  ManualClock clock;
  HistoryRecorder recorder(clock);
  recorder.add_evaluation({1, 1, 1, 0.9, 0.5}, 0);
  CHECK_FALSE(recorder.history().reached_target);
  recorder.add_evaluation({2, 2, 2, 0.9, 0.5}, 0.9);
  CHECK(recorder.history().reached_target);
  recorder.add_evaluation({3, 3, 3, 0.89, 0.5}, 0.9);
  CHECK_FALSE(recorder.history().reached_target);
  CHECK(recorder.history().evaluations.size() == 3);
}

}  // namespace unstarve
