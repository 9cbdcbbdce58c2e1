// The loop with a fake trainer on a manual clock.

#include "unstarve/train/loop.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "unstarve/train/schedule.h"
#include "unstarve/train/testing/fake_run.h"

namespace unstarve {

using testing::FakeSource, testing::FakeTrainer, testing::kEndless, testing::kSecond;

TEST_CASE("a run of n steps follows the schedule and saves at the end") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.steps = 10;
  plan.report_every = 4;
  plan.checkpoints.file = "unused";
  int reports = 0;
  plan.report = [&](const TrainHistory&) { ++reports; };
  const TrainSettings settings;
  const TrainHistory history = run_training(trainer, settings, source, plan, clock);

  CHECK(history.steps == 10);
  CHECK(history.samples == 40);
  REQUIRE(trainer.rates.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(trainer.rates[i] == scheduled_rate(settings, static_cast<std::int64_t>(i), 10));
  }
  REQUIRE(history.points.size() == 4);  // 1, 4, 8, 10
  CHECK(history.points[1].step == 4);
  CHECK(history.points[1].samples_per_s == Approx(4));
  CHECK(history.points.back().step == 10);
  CHECK(reports == 4);
  CHECK(trainer.saved == std::vector<std::int64_t>{10});
  CHECK(history.evaluations.empty());
}

TEST_CASE("a step is given its position in the run and the epochs before it") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.steps = 10;
  plan.start_step = 4;
  plan.first_step = 1;
  const bool known = GENERATE(false, true);
  if (known) plan.epoch_steps = EpochSteps(3);
  (void)run_training(trainer, TrainSettings(), source, plan, clock);
  REQUIRE(trainer.steps.size() == 6);
  CHECK(trainer.steps.front().share == 0.5);
  CHECK(trainer.steps.back().share == 1);
  CHECK(trainer.steps[0].epochs == (known ? 1 : 0));
  CHECK(trainer.steps[3].epochs == (known ? 2 : 0));
}

TEST_CASE("evaluations follow epochs of different lengths") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.epoch_steps = EpochSteps(4, {1, 2});
  plan.steps = 11;
  plan.validation = [] { return std::make_unique<FakeSource>(1); };
  const auto evaluated = [&](std::int64_t every) {
    plan.evaluate_every = every;
    std::vector<std::int64_t> steps;
    for (const EvaluationPoint& point : run_training(trainer, TrainSettings(), source, plan, clock).evaluations)
      steps.push_back(point.step);
    return steps;
  };
  CHECK(evaluated(4) == std::vector<std::int64_t>{1, 3, 7, 11});  // after each epoch
  CHECK(evaluated(8) == std::vector<std::int64_t>{3, 11});
  CHECK(evaluated(2) == std::vector<std::int64_t>{1, 2, 3, 5, 7, 9, 11});
}

TEST_CASE("the history has the time of each epoch of the data, without evaluations") {
  ManualClock clock;
  FakeTrainer trainer(clock, 2);
  trainer.evaluation_s = 100;
  FakeSource source(kEndless, &clock, 0.5);
  source.epoch_steps = {3, 2};
  TrainPlan plan;
  plan.steps = 6;
  plan.world = 2;
  plan.evaluate_every = 2;
  plan.validation = [] { return std::make_unique<FakeSource>(1); };
  trainer.first_step_s = 7;
  const std::vector<EpochTimes> epochs = run_training(trainer, TrainSettings(), source, plan, clock).epochs;
  REQUIRE(epochs.size() == 3);
  CHECK(epochs[0].epoch == 0);
  CHECK(epochs[0].steps == 3);
  CHECK(epochs[0].samples == 3 * 4 * 2);
  CHECK(epochs[0].seconds == Approx(7 + 2 * 2 + 3 * 0.5));
  CHECK(epochs[0].wait_seconds == Approx(1.5));
  CHECK(epochs[1].steps == 2);
  CHECK(epochs[1].seconds == Approx(5));
  CHECK(epochs[2].epoch == 2);
  CHECK(epochs[2].steps == 1);
}

TEST_CASE("a run that ends with an evaluation writes its checkpoint once, with or without validation data") {
  const bool validation = GENERATE(false, true);
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.steps = 8;
  plan.evaluate_every = 4;
  plan.checkpoints.file = "unused";
  if (validation) plan.validation = [] { return std::make_unique<FakeSource>(1); };
  const TrainHistory history = run_training(trainer, {}, source, plan, clock);
  CHECK(trainer.saved == std::vector<std::int64_t>{4, 8});
  CHECK(history.evaluations.size() == (validation ? 2 : 0));
}

TEST_CASE("a resumed run continues the schedule") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.steps = 10;
  plan.start_step = 7;
  const TrainSettings settings;
  const TrainHistory history = run_training(trainer, settings, source, plan, clock);
  CHECK(history.steps == 10);
  REQUIRE(trainer.rates.size() == 3);
  CHECK(trainer.rates[0] == scheduled_rate(settings, 7, 10));
}

TEST_CASE("a checkpoint contains the resume state, and evaluations follow the present epoch length") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  int calls = 0;
  TrainPlan plan;
  plan.steps = 14;
  plan.start_step = 3;
  plan.first_step = 1;  // batches are larger now: the three steps done had the samples of two
  plan.evaluate_every = 4;
  plan.checkpoints.file = "unused";
  plan.data_position = [&] { return [&] { return "position " + std::to_string(++calls); }; };
  (void)run_training(trainer, {}, source, plan, clock);
  CHECK(trainer.saved == std::vector<std::int64_t>{5, 9, 13, 14});
  CHECK(trainer.positions == std::vector<std::string>{"position 1", "position 2", "position 3", "position 4"});
}

TEST_CASE("with accumulation, every n-th step and the last one update, and checkpoints wait for an update") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.steps = 8;
  plan.evaluate_every = 4;
  plan.checkpoints.file = "unused";
  TrainSettings settings;
  settings.accumulate = 3;
  (void)run_training(trainer, settings, source, plan, clock);
  CHECK(trainer.updates == std::vector<bool>{false, false, true, false, false, true, false, true});
  CHECK(trainer.saved == std::vector<std::int64_t>{6, 8});
}

TEST_CASE("with accumulation, a checkpoint between two updates has the present position of the data") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.minutes = 10.0 / 60;
  plan.checkpoints.file = "unused";
  int encoded = 0;
  plan.data_position = [&] {
    return [&encoded, step = trainer.steps.size()] {
      ++encoded;
      return std::to_string(step);
    };
  };
  TrainSettings settings;
  settings.accumulate = 4;
  (void)run_training(trainer, settings, source, plan, clock);
  REQUIRE_FALSE(trainer.saved.empty());
  CHECK(std::ssize(trainer.saved) == encoded);  // not at every update
  for (std::size_t i = 0; i < trainer.saved.size(); ++i)
    CHECK(trainer.positions[i] == std::to_string(trainer.saved[i]));
}

TEST_CASE("checkpoints are written at intervals of time") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.steps = 10;
  plan.checkpoints.file = "unused";
  plan.checkpoint_seconds = 4;
  (void)run_training(trainer, {}, source, plan, clock);
  CHECK(trainer.saved == std::vector<std::int64_t>{4, 8, 10});
}

TEST_CASE("a timed run ends in time, including its last evaluation, with a learning rate near zero") {
  ManualClock clock;
  FakeTrainer trainer(clock, 0.5);
  trainer.first_step_s = 20;  // kernels are generated
  trainer.evaluation_s = 2;
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.minutes = 5;
  plan.evaluate_every = 100;
  plan.validation = [] { return std::make_unique<FakeSource>(10); };
  plan.validation_batches = 10;
  TrainSettings settings;
  const TrainHistory history = run_training(trainer, settings, source, plan, clock);

  CHECK(history.seconds <= 300);
  CHECK(history.seconds > 290);
  CHECK(history.steps >= 400);  // 20 s for the first step, four evaluations of 20 s, 0.5 s for each other step
  CHECK(trainer.rates.back() < 0.05 * settings.learning_rate);
  CHECK(*std::max_element(trainer.rates.begin(), trainer.rates.end()) > 0.9 * settings.learning_rate);
  CHECK(history.evaluations.back().step == history.steps);
  CHECK(history.evaluations.back().accuracy == Approx(0.75));
  CHECK(history.evaluations.back().loss == Approx(0.5));
}

TEST_CASE("a limit shorter than a step still trains one") {
  ManualClock clock;
  FakeTrainer trainer(clock, 100);
  trainer.first_step_s = 100;
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.minutes = 0.1;
  CHECK(run_training(trainer, {}, source, plan, clock).steps == 1);
}

TEST_CASE("waiting for data is reported as a share of the time") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless, &clock, 3);
  TrainPlan plan;
  plan.steps = 20;
  const TrainHistory history = run_training(trainer, {}, source, plan, clock);
  CHECK(history.points.back().wait_share == Approx(0.75));
  CHECK(history.wait_seconds == Approx(60));
}

TEST_CASE("a trace has the parts of a few steps after the first ones, with the times of the run") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless, &clock, 2);
  TrainPlan plan;
  plan.steps = 40;
  std::vector<TracedStep> traced;
  plan.trace = [&](const TracedStep& step) { traced.push_back(step); };
  (void)run_training(trainer, {}, source, plan, clock);
  REQUIRE(traced.size() == 20);
  CHECK(traced[0].step == 4);
  CHECK(traced[0].begin_s == Approx(3 * 3));
  CHECK(traced[0].wait_s == Approx(2));
  CHECK(traced[0].step_s == Approx(2));
  CHECK(traced[0].spans.size() == 2);
  CHECK(trainer.timed == std::vector<bool>{true, false});
}

}  // namespace unstarve
