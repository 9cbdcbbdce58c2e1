// How a run ends: stops, losses that are not finite, other ranks, invalid plans.

#include "unstarve/train/loop.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/train/testing/fake_run.h"

namespace unstarve {

using testing::FakeSource, testing::FakeTrainer, testing::kEndless, testing::kSecond;

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

TEST_CASE("a run that its data stops between updates writes the state of the last update") {
  class StoppedSource final : public BatchSource {
   public:
    explicit StoppedSource(int batches) : left_(batches), batches_(kEndless) {}
    bool next(HostBatch& batch) override {
      if (left_-- == 0) throw Error(ErrorKind::kCancelled, "training was stopped");
      return batches_.next(batch);
    }

   private:
    int left_;
    FakeSource batches_;
  };
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  TrainSettings settings;
  settings.accumulate = 4;
  TrainPlan plan;
  plan.start_step = 2;
  plan.steps = 100;
  plan.checkpoints.file = "here.safetensors";
  int encoded = 0;
  plan.data_position = [&] {
    return [&encoded, step = trainer.rates.size()] {
      ++encoded;
      return std::to_string(step);
    };
  };
  const auto run = [&](int batches) {
    StoppedSource source(batches);
    (void)run_training(trainer, settings, source, plan, clock);
  };
  SECTION("after two updates") {
    CHECK_THROWS_WITH(run(11), Catch::Contains("after step 10") && Catch::Contains("--resume here.safetensors"));
    CHECK(trainer.saved == std::vector<std::int64_t>{10});
    CHECK(trainer.positions == std::vector<std::string>{"8"});
    CHECK(trainer.undone == 1);
    CHECK(encoded == 1);
  }
  SECTION("also if the loss between two updates is not finite") {
    plan.data_position = [&] {
      if (trainer.rates.size() == 8) trainer.loss_value = std::numeric_limits<double>::quiet_NaN();
      return [] { return ""; };
    };
    CHECK_THROWS_WITH(run(11), Catch::Contains("after step 10"));
    CHECK(trainer.saved == std::vector<std::int64_t>{10});
  }
  SECTION("at an update") {
    CHECK_THROWS_WITH(run(8), Catch::Contains("after step 10"));
    CHECK(trainer.saved == std::vector<std::int64_t>{10});
    CHECK(trainer.undone == 0);
  }
  SECTION("before the first update there is nothing to write") {
    CHECK_THROWS_WITH(run(3), Catch::Equals("training was stopped"));
    CHECK(trainer.saved.empty());
  }
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
  plan.data_position = [&] {
    trainer.loss_value = std::nan("");  // from the first checkpoint on
    return [] { return ""; };
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

TEST_CASE("a run that continues after its last step is only evaluated and written") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  TrainPlan plan;
  plan.steps = plan.start_step = 10;
  TrainSettings settings;
  settings.accumulate = GENERATE(1, 4);
  plan.data_position = [] { return [] { return "its data"; }; };
  plan.validation = [] { return std::make_unique<FakeSource>(3); };
  std::string notice;
  plan.notice = [&](const std::string& text) { notice = text; };
  CheckpointTargets& targets = plan.checkpoints;
  targets.resumed = "run/step-00000010.safetensors";
  const auto saves = [&](bool saved) {
    const TrainHistory history = run_training(trainer, settings, source, plan, clock);
    CHECK(trainer.saved == std::vector<std::int64_t>(saved ? 1 : 0, 10));
    CHECK(trainer.positions == std::vector<std::string>(saved ? 1 : 0, "its data"));
    CHECK(trainer.written == (saved && targets.folder.empty() ? 1 : 0));
    return history;
  };
  SECTION("to the file from which it continues: not") {
    targets.file = "./run/step-00000010.safetensors";
    targets.folder = "run";
    (void)saves(false);
  }
  SECTION("by another rank") {
    plan.rank = 1;
    plan.world = 2;
    targets.folder = "other";
    (void)saves(true);
  }
  SECTION("to another file") { targets.file = "new.safetensors"; }
  if (targets.file != "new.safetensors") return;
  const TrainHistory history = saves(true);
  CHECK(history.steps == 10);
  CHECK(history.samples == 0);
  CHECK(history.evaluations.size() == 1);
  CHECK_THAT(notice, Catch::Contains("all 10 steps are done") && Catch::Contains("number of epochs"));
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
  SECTION("data of this rank that cannot be read: its own error, and the others do not report its end") {
    class MissingFile final : public BatchSource {
     public:
      bool next(HostBatch&) override { throw Error(ErrorKind::kIo, "open a.jpg: No such file or directory"); }
    } missing;
    const bool validates = GENERATE(false, true);
    if (validates) plan.validation = [] { return std::make_unique<MissingFile>(); };
    BatchSource& batches = validates ? static_cast<BatchSource&>(source) : missing;
    CHECK(testing::error_message([&] { (void)run_training(trainer, {}, batches, plan, clock); }, ErrorKind::kIo) ==
          "open a.jpg: No such file or directory");
    CHECK(trainer.asked_for_reports == 1);
  }
  SECTION("a report of this rank that fails is not the end of another rank") {
    plan.report = [](const TrainHistory&) { throw Error(ErrorKind::kIo, "write report: No space left on device"); };
    CHECK(testing::error_message([&] { (void)run_training(trainer, {}, source, plan, clock); }, ErrorKind::kIo) ==
          "write report: No space left on device");
  }
  SECTION("another rank has ended before the first checkpoint") {
    plan.checkpoints.folder = "folder/that/does/not/exist";
    trainer.agree = [](std::span<double>) { throw Error(ErrorKind::kIo, "connection closed"); };
    CHECK_THROWS_WITH(
        run_training(trainer, {}, source, plan, clock),
        Catch::Contains(
            "another rank ended after step 0; expected 2 ranks. folder/that/does/not/exist has no checkpoint yet"));
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

TEST_CASE("a run that is limited by time ends with the slow weights of lookahead, also if it ends unexpectedly") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource source(kEndless);
  TrainSettings settings;
  settings.lookahead.every = GENERATE(0, 5);
  TrainPlan plan;
  plan.minutes = 0.5;
  plan.report_every = 7;
  plan.report = [&](const TrainHistory& history) {
    if (history.points.back().step == 7) clock.advance(60 * kSecond);
  };
  (void)run_training(trainer, settings, source, plan, clock);
  CHECK(trainer.steps.back().share < 0.3);
  CHECK(trainer.ended_averages == (settings.lookahead.every > 0 ? 1 : 0));
  plan.minutes = 0;
  plan.steps = 10;
  (void)run_training(trainer, settings, source, plan, clock);
  CHECK(trainer.steps.back().share == 1);
  CHECK(trainer.ended_averages == (settings.lookahead.every > 0 ? 1 : 0));  // unchanged
}

TEST_CASE("a run that is limited by time ends with an update, also if time ends between two of them") {
  // Its batch takes longer than the time that is left.
  class SlowSource final : public BatchSource {
   public:
    SlowSource(ManualClock& clock, int slow) : clock_(clock), until_slow_(slow) {}
    bool next(HostBatch& batch) override {
      if (--until_slow_ == 0) clock_.advance(60 * kSecond);
      return batches_.next(batch);
    }

   private:
    ManualClock& clock_;
    int until_slow_;
    FakeSource batches_{kEndless};
  };
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  const int slow = GENERATE(8, 9, 10, 11);
  SlowSource source(clock, slow);
  TrainSettings settings;
  settings.accumulate = 4;
  TrainPlan plan;
  plan.minutes = 0.5;
  const TrainHistory history = run_training(trainer, settings, source, plan, clock);
  CHECK(trainer.updates.back());
  CHECK(history.steps == (slow == 8 ? 8 : slow + 1));
  CHECK(trainer.updates.size() == static_cast<std::size_t>(history.steps));
}

TEST_CASE("evaluation without samples is an error") {
  ManualClock clock;
  FakeTrainer trainer(clock, 1);
  FakeSource empty(0);
  CHECK_THROWS_AS(evaluate_all(trainer, empty), Error);
}

}  // namespace unstarve
