// The loop with a fake trainer on a manual clock.

#include "unstarve/train/loop.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/train/schedule.h"
#include "unstarve/train/testing/idle_trainer.h"

namespace unstarve {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Writes nothing, so that the loop can be tested without files. Counts the writes, by any thread.
class FakeSnapshot final : public TrainSnapshot {
 public:
  explicit FakeSnapshot(std::atomic<int>& written) : written_(written) {}
  void write(const std::filesystem::path&) const override { ++written_; }

 private:
  std::atomic<int>& written_;
};

class FakeTrainer final : public testing::IdleTrainer {
 public:
  FakeTrainer(ManualClock& clock, double step_s) : clock_(clock), step_s_(step_s) {}
  void load(const HostBatch&) override { ++loads; }
  void step(double learning_rate, bool update, const StepPosition& position) override {
    rates.push_back(learning_rate);
    steps.push_back(position);
    updates.push_back(update);
    advance(rates.size() == 1 ? first_step_s : step_s_);
  }
  double loss() override { return loss_value; }
  void enable_timing(bool on) override { timed.push_back(on); }
  std::vector<StepSpan> spans() override { return {{"forward", false, 0, 400}, {"backward", false, 400, 1000}}; }
  void evaluate() override {
    advance(evaluation_s);
    evaluated.samples += 4;
    evaluated.correct += 3;
    evaluated.loss_sum += 2;
  }
  std::unique_ptr<TrainSnapshot> snapshot(const TrainProgress& progress) override {
    saved.push_back(progress.step);
    positions.push_back(progress.data);
    return std::make_unique<FakeSnapshot>(written);
  }
  Evaluation evaluate_done() override {
    const Evaluation own = std::exchange(evaluated, {});
    return {own.samples + others.samples, own.correct + others.correct, own.loss_sum + others.loss_sum};
  }
  void largest_of_ranks(std::span<double> values) override {
    const auto& answer = values.size() == kPlanValues ? agree_plans : agree;
    if (answer) answer(values);
  }
  bool reports_lost_rank() override { return reports; }

  int loads = 0;
  double loss_value = 1;
  double first_step_s = 1;
  double evaluation_s = 0;
  std::vector<double> rates;
  std::vector<bool> updates;
  std::vector<StepPosition> steps;
  std::vector<std::int64_t> saved;
  std::vector<bool> timed;
  Evaluation evaluated;  // since the last evaluate_done()
  Evaluation others;     // of the other ranks
  // The other ranks: at the start of the run, and at every step.
  static constexpr std::size_t kPlanValues = 4;
  std::function<void(std::span<double>)> agree_plans, agree;
  bool reports = true;
  std::atomic<int> written{0};  // snapshots
  std::vector<std::string> positions;

 private:
  void advance(double seconds) { clock_.advance(static_cast<std::int64_t>(seconds * kSecond)); }
  ManualClock& clock_;
  double step_s_;
};

class FakeSource final : public BatchSource {
 public:
  explicit FakeSource(std::int64_t batches, ManualClock* clock = nullptr, double wait_s = 0)
      : left_(batches), clock_(clock), wait_s_(wait_s) {}
  bool next(HostBatch& batch) override {
    if (left_-- <= 0) return false;
    if (clock_ != nullptr) clock_->advance(static_cast<std::int64_t>(wait_s_ * kSecond));
    batch.labels = labels_;
    if (!epoch_steps.empty()) batch.epoch = epoch_;
    if (epoch_ < std::ssize(epoch_steps) && ++in_epoch_ == epoch_steps[static_cast<std::size_t>(epoch_)]) {
      ++epoch_;
      in_epoch_ = 0;
    }
    return true;
  }
  std::vector<std::int64_t> epoch_steps;  // of the first epochs; empty: batches have no epoch

 private:
  std::int64_t left_;
  ManualClock* clock_;
  double wait_s_;
  std::int64_t epoch_ = 0, in_epoch_ = 0;
  std::array<std::int64_t, 4> labels_{};
};

constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();

}  // namespace

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
  plan.resume_state = [&] { return "position " + std::to_string(++calls); };
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

TEST_CASE("a run that is stopped writes a checkpoint and names it") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  std::stop_source stop;
  TrainPlan plan;
  plan.steps = 100;
  plan.report_every = 7;
  plan.checkpoints.file = "here.safetensors";
  plan.stop = stop.get_token();
  plan.report = [&](const TrainHistory& history) {
    if (history.points.back().step == 7) stop.request_stop();
  };
  CHECK_THROWS_WITH(run_training(trainer, {}, source, plan, clock),
                    Catch::Contains("after step 7") && Catch::Contains("--resume here.safetensors"));
  CHECK(trainer.saved == std::vector<std::int64_t>{7});
}

TEST_CASE("a run that is stopped without a folder for checkpoints reports that none was written") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  std::stop_source stop;
  TrainPlan plan;
  plan.steps = 100;
  plan.report_every = 7;
  plan.stop = stop.get_token();
  plan.report = [&](const TrainHistory& history) {
    if (history.points.back().step == 7) stop.request_stop();
  };
  CHECK_THROWS_WITH(run_training(trainer, {}, source, plan, clock),
                    Catch::Contains("after step 7; no checkpoint was written") && Catch::Contains("--checkpoint-dir"));
}

TEST_CASE("a loss that is not finite ends the run without a checkpoint, and the last one is named") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.steps = 100;
  plan.report_every = 50;
  plan.checkpoints.file = "last.safetensors";
  plan.checkpoint_seconds = 10;
  plan.resume_state = [&] {
    trainer.loss_value = std::nan("");  // from the first checkpoint on
    return "";
  };
  CHECK_THROWS_WITH(run_training(trainer, {}, source, plan, clock),
                    Catch::Contains("step 20 is nan") && Catch::Contains("the last checkpoint is last.safetensors"));
  CHECK(trainer.saved == std::vector<std::int64_t>{10});
}

TEST_CASE("a loss that is not finite before the first checkpoint names the one from which the run continues") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.start_step = 10;
  plan.steps = 100;
  plan.checkpoints.file = "new.safetensors";
  plan.checkpoints.resumed = "old.safetensors";
  trainer.loss_value = -std::nan("");  // its sign is not shown
  CHECK_THROWS_WITH(run_training(trainer, {}, source, plan, clock),
                    Catch::Contains(" is nan;") && Catch::Contains("the last checkpoint is old.safetensors"));
  CHECK(trainer.saved.empty());
}

TEST_CASE("a run that continues after its last step is only evaluated") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.steps = plan.start_step = 10;
  plan.checkpoints.file = "new.safetensors";
  plan.validation = [] { return std::make_unique<FakeSource>(3); };
  std::string notice;
  plan.notice = [&](const std::string& text) { notice = text; };
  const TrainHistory history = run_training(trainer, {}, source, plan, clock);
  CHECK(history.steps == 10);
  CHECK(history.samples == 0);
  CHECK(history.evaluations.size() == 1);
  CHECK_THAT(notice, Catch::Contains("all 10 steps are done") && Catch::Contains("number of epochs"));
  CHECK(trainer.saved.empty());
}

TEST_CASE("more steps than the run has are rejected") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.steps = 10;
  plan.start_step = 11;
  CHECK_THROWS_WITH(run_training(trainer, {}, source, plan, clock),
                    Catch::Contains("found 11 steps already done; expected at most 10"));
}

TEST_CASE("a validation loss that is not finite is reported, and training continues") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.steps = 4;
  plan.evaluate_every = 2;
  plan.validation = [] { return std::make_unique<FakeSource>(3); };
  trainer.others = {1, 0, std::nan("")};
  std::vector<std::string> notices;
  plan.notice = [&](const std::string& text) { notices.push_back(text); };
  CHECK(run_training(trainer, {}, source, plan, clock).steps == 4);
  REQUIRE(notices.size() == 2);
  CHECK(notices[0] == "evaluation at step 2: the loss is nan; expected a finite number");
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

TEST_CASE("a run without length, without data, with an invalid loss or a stop request throws") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource endless(kEndless);
  FakeSource short_source(3);
  TrainPlan plan;
  const auto kind = [&](BatchSource& source, std::stop_token stop = {}) {
    try {
      plan.stop = stop;
      (void)run_training(trainer, {}, source, plan, clock);
    } catch (const Error& error) {
      return std::string(to_string(error.kind())) + ": " + error.what();
    }
    return std::string("done");
  };
  using Catch::Contains;
  CHECK_THAT(kind(endless), Contains("0 steps and 0 minutes"));
  plan.steps = 5;
  CHECK_THAT(kind(short_source), Contains("the data ended after 3 steps of 5"));
  std::stop_source stop;
  stop.request_stop();
  CHECK_THAT(kind(endless, stop.get_token()), Contains(to_string(ErrorKind::kCancelled)));
  trainer.loss_value = std::nan("");
  CHECK_THAT(kind(endless), Contains("step 1 is nan"));
}

TEST_CASE("with several ranks, rank 0 decides about length and checkpoints, and a stop of any rank is one of all") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.steps = 6;
  plan.world = 2;
  plan.checkpoints.file = "unused";

  SECTION("rank 1 trains as many steps as rank 0 decides, takes part in checkpoints and writes none") {
    plan.rank = 1;
    plan.checkpoint_seconds = 0.5;  // its own clock does not matter
    int calls = 0;
    trainer.agree = [&](std::span<double> values) {
      CHECK(values[0] == 0);
      CHECK(values[2] == 0);
      values[0] = 4;
      values[2] = ++calls == 2 ? 1 : 0;
    };
    const TrainHistory history = run_training(trainer, {}, source, plan, clock);
    CHECK(history.steps == 4);
    CHECK(history.samples == 2 * 4 * 4);
    CHECK(trainer.saved == std::vector<std::int64_t>{2, 4});
    CHECK(trainer.written == 0);
  }
  SECTION("ranks whose plans differ") {
    plan.evaluate_every = 5;
    const std::size_t other = GENERATE(0, 2);
    trainer.agree_plans = [&](std::span<double> values) {
      values[other] = std::max(values[other], 7.0);
      values[other + 1] = std::max(values[other + 1], -7.0);
    };
    const auto run = [&] { (void)run_training(trainer, {}, source, plan, clock); };
    CHECK_THAT(testing::error_message(run, ErrorKind::kArgument),
               Catch::Contains(other == 0 ? "found 5 steps between evaluations on one rank and 7 on another"
                                          : "found 0 steps already done on one rank and 7 on another"));
    CHECK(trainer.loads == 0);
  }
  SECTION("rank 0 writes") {
    (void)run_training(trainer, {}, source, plan, clock);
    CHECK(trainer.saved == std::vector<std::int64_t>{6});
    CHECK(trainer.written == 1);
  }
  SECTION("a stop of another rank") {
    int calls = 0;
    trainer.agree = [&](std::span<double> values) { values[1] = ++calls == 3 ? 1 : 0; };
    CHECK_THROWS_WITH(run_training(trainer, {}, source, plan, clock),
                      Catch::Contains("training was stopped after step 2; continue with --resume unused"));
    CHECK(trainer.saved == std::vector<std::int64_t>{2});
  }
  SECTION("evaluations are those of all ranks and are not interrupted by a stop") {
    std::stop_source stop;
    trainer.others = {8, 0, 6};
    plan.validation = [&] {
      stop.request_stop();
      return std::make_unique<FakeSource>(1);
    };
    plan.stop = stop.get_token();
    const TrainHistory history = run_training(trainer, {}, source, plan, clock);
    CHECK(history.evaluations.back().accuracy == Approx(3.0 / 12));
    CHECK(history.evaluations.back().loss == Approx(8.0 / 12));
  }
  SECTION("another rank has ended: one rank reports it") {
    int calls = 0;
    trainer.agree = [&](std::span<double>) {
      if (++calls == 3) throw Error(ErrorKind::kIo, "connection closed");
    };
    trainer.reports = GENERATE(true, false);
    const std::string message = testing::error_message([&] { (void)run_training(trainer, {}, source, plan, clock); },
                                                       trainer.reports ? ErrorKind::kIo : ErrorKind::kCancelled);
    CHECK(message == (trainer.reports ? "training: another rank ended after step 2; expected 2 ranks. There is no "
                                        "checkpoint to continue from: use --checkpoint-dir (connection closed)"
                                      : ""));
  }
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

TEST_CASE("evaluation without samples is an error") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource empty(0);
  CHECK_THROWS_AS(evaluate_all(trainer, empty), Error);
}

}  // namespace unstarve
