#include "unstarve/train/loop.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/train/schedule.h"

namespace unstarve {
namespace {

// First steps excluded from the measured speed, while kernels are generated and memory pools filled.
constexpr std::int64_t kWarmupSteps = 3;
constexpr std::int64_t kTracedSteps = 20;
// Assumed time of one view of a batch in evaluation relative to a step, until measured: the forward pass has a third of
// the multiply-adds.
constexpr double kEvaluationShare = 1.0 / 3.0;

// Without the sign of NaN.
std::string loss_text(double loss) { return std::isnan(loss) ? "nan" : fmt::format("{}", loss); }

// Messages of the transport continue with lines of addresses and advice for its developers.
std::string first_sentence(std::string_view text) {
  return std::string(text.substr(0, std::min(text.find('\n'), text.find(". "))));
}

// Whether there is a target other than the resumed file. Compares names only, so that all ranks have the same answer.
bool saves_elsewhere(const CheckpointTargets& targets) {
  const std::filesystem::path resumed = targets.resumed.lexically_normal();
  return (!targets.file.empty() && targets.file.lexically_normal() != resumed) ||
         (!targets.folder.empty() && (targets.folder / resumed.filename()).lexically_normal() != resumed);
}

[[noreturn]] void throw_stopped() { throw Error(ErrorKind::kCancelled, "training was stopped"); }

// Estimates the total number of steps of a run. Times exclude evaluations.
class StepBudget {
 public:
  explicit StepBudget(const TrainPlan& plan)
      : steps_(plan.steps), limit_s_(plan.minutes * 60), min_steps_(plan.start_step + 1) {}

  void step_done(double training_s) {
    if (++measured_ == kWarmupSteps) warm_s_ = training_s;
    last_s_ = training_s;
  }
  void set_reserve(double seconds) { reserve_s_ = seconds; }
  // Wall time of a step. On a GPU the host queues at most the batches in flight.
  [[nodiscard]] double step_seconds() const {
    if (measured_ > kWarmupSteps) return (last_s_ - warm_s_) / static_cast<double>(measured_ - kWarmupSteps);
    return measured_ > 0 ? last_s_ / static_cast<double>(measured_) : 0;
  }

  // Estimated total after `done` steps, `now_s` after the start of the run.
  [[nodiscard]] std::int64_t total(std::int64_t done, double now_s) const {
    std::int64_t total = steps_ > 0 ? steps_ : std::numeric_limits<std::int64_t>::max();
    if (limit_s_ > 0) {
      const double left_s = std::max(0.0, limit_s_ - reserve_s_ - now_s);
      const double fit = measured_ == 0 ? kUnknownSteps : std::floor(left_s / std::max(step_seconds(), 1e-9));
      total = std::min(total, done + static_cast<std::int64_t>(std::min(fit, kUnknownSteps)));
      total = std::max(total, min_steps_);
    }
    return total;
  }

 private:
  // Estimate before the first step of a timed run.
  static constexpr double kUnknownSteps = 1e9;
  std::int64_t steps_;
  double limit_s_;
  std::int64_t min_steps_;  // a time limit that is too short still trains one step
  std::int64_t measured_ = 0;
  double warm_s_ = 0;
  double last_s_ = 0;
  double reserve_s_ = 0;
};

void check_plan(const TrainPlan& plan) {
  if (plan.steps <= 0 && !(plan.minutes > 0)) {
    throw Error(
        ErrorKind::kArgument,
        fmt::format("training: found {} steps and {} minutes; expected one of them above 0", plan.steps, plan.minutes));
  }
  if (plan.steps > 0 && plan.start_step > plan.steps) {
    throw Error(ErrorKind::kArgument,
                fmt::format("training: found {} steps already done; expected at most {}. Increase the number of epochs",
                            plan.start_step, plan.steps));
  }
}

// Ranks whose plans differ would wait for each other forever.
void check_equal_plans(Trainer& trainer, const TrainPlan& plan) {
  if (plan.world == 1) return;
  const auto every = static_cast<double>(plan.evaluate_every), start = static_cast<double>(plan.start_step);
  std::array<double, 4> largest{every, -every, start, -start};
  trainer.largest_of_ranks(largest);
  const auto check = [&](double most, double least, const char* what) {
    if (most != least)
      throw Error(ErrorKind::kArgument,
                  fmt::format("training: found {} {} on one rank and {} on another; expected the same on all. Use data "
                              "of the same length and one checkpoint folder",
                              least, what, most));
  };
  check(largest[0], -largest[1], "steps between evaluations");
  check(largest[2], -largest[3], "steps already done");
}

// The data of this rank. Its errors are not those of the exchange with other ranks.
class OwnData final : public BatchSource {
 public:
  OwnData(BatchSource& source, bool& failed) : source_(source), failed_(failed) {}
  bool next(HostBatch& batch) override {
    failed_ = true;
    const bool found = source_.next(batch);
    failed_ = false;
    return found;
  }

 private:
  BatchSource& source_;
  bool& failed_;  // true while and after next() fails
};

class TrainingRun {
 public:
  TrainingRun(Trainer& trainer, const TrainSettings& settings, BatchSource& source, const TrainPlan& plan, Clock& clock)
      : trainer_(trainer),
        settings_(settings),
        source_(source, own_failed_),
        plan_(plan),
        budget_(plan),
        recorder_(clock, plan.waited_seconds),
        checkpoints_(plan.checkpoints, plan.notice),
        step_(plan.start_step),
        last_{.evaluated_step = plan.start_step},
        update_{plan.start_step, {}} {}

  TrainHistory run() {
    try {
      if (plan_.steps > 0 && step_ == plan_.steps) return report_complete();
      note_emulation();
      for (Decision next = decide(); step_ < next.total && !recorder_.history().reached_target; next = decide()) {
        if (updated_ && next.stop) throw_stopped();
        train_step(next.total);
        if (!updated_) continue;
        if (settings_.accumulate > 1 && checkpoints_.any()) update_ = {step_, data_position()};
        between_steps(next);
      }
      trainer_.synchronise();
      if (pointed_step() != step_) add_point();
      if (ended_early_) end_averages();
      if (last_.evaluated_step != step_) evaluate();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kCancelled) stop(error);
      if (plan_.world == 1) throw;
      if (error.kind() == ErrorKind::kIo && !own_failed_) lost_rank(error);
      (void)trainer_.reports_lost_rank();  // this rank reports its own error, so the others need not report its end
      throw;
    }
    with_advice([&] { checkpoints_.finish(); });
    return recorder_.finish(step_);
  }

 private:
  // Of a run that continues after its last step, for example in a job that was started again.
  TrainHistory report_complete() {
    if (plan_.notice && plan_.rank == 0)
      plan_.notice(fmt::format("training: all {} steps are done; increase the number of epochs to train more", step_));
    validate();
    if (saves_elsewhere(plan_.checkpoints)) {
      update_ = {step_, data_position()};
      checkpoint(false);
      with_advice([&] { checkpoints_.finish(); });
    }
    return recorder_.finish(step_);
  }

  // What all ranks do next.
  struct Decision {
    std::int64_t total = 0;   // steps of the run
    bool stop = false;        // before this step, or the next one whose predecessor updated the weights
    bool checkpoint = false;  // after this step
  };

  // What was done last.
  struct Last {
    std::int64_t evaluated_step = 0;  // at first the start of the run
    std::int64_t finite_step = 0;     // its loss was read and finite; 0: none
    double checkpoint_s = 0;          // time of the checkpoint
  };

  // An update, to which a stop between updates returns.
  struct Update {
    std::int64_t step = 0;
    DataPosition position;  // empty: none
  };

  // Of the last point; 0: there is none.
  [[nodiscard]] std::int64_t pointed_step() const {
    const std::vector<TrainPoint>& points = recorder_.history().points;
    return points.empty() ? 0 : points.back().step;
  }

  [[nodiscard]] bool checkpoint_due() const {
    return plan_.checkpoint_seconds > 0 && recorder_.seconds() - last_.checkpoint_s >= plan_.checkpoint_seconds;
  }

  Decision decide() {
    Decision mine{budget_.total(step_, recorder_.seconds()), plan_.stop.stop_requested(), checkpoint_due()};
    if (!updated_) mine.total = std::max(mine.total, step_ + 1);  // the last step uses the gradients so far
    if (plan_.world == 1) return mine;
    std::array<double, 3> values{plan_.rank == 0 ? static_cast<double>(mine.total) : 0.0, mine.stop ? 1.0 : 0.0,
                                 plan_.rank == 0 && mine.checkpoint ? 1.0 : 0.0};
    trainer_.largest_of_ranks(values);
    return {std::llround(values[0]), values[1] != 0, values[2] != 0};
  }

  // Of the next step, in a run of `total` steps.
  [[nodiscard]] StepPosition position_in(std::int64_t total) const {
    StepPosition position{0, std::min(1.0, static_cast<double>(step_ + 1) / static_cast<double>(total))};
    if (plan_.epoch_steps.known()) position.epochs = plan_.epoch_steps.epochs_at(step_ - plan_.first_step);
    return position;
  }

  void train_step(std::int64_t total) {
    const double begin_s = recorder_.seconds();
    HostBatch batch;
    if (!source_.next(batch))
      throw Error(ErrorKind::kInput, fmt::format("training: the data ended after {} steps of {}", step_, total));
    const double wait_s = recorder_.seconds() - begin_s;

    rate_ = scheduled_rate(settings_, step_, total);
    updated_ = (step_ + 1 - plan_.start_step) % settings_.accumulate == 0 || step_ + 1 >= total;
    const std::int64_t number = step_ - plan_.start_step;
    if (plan_.trace && number == kWarmupSteps) trainer_.enable_timing(true);
    trainer_.load(batch);
    const double step_s = recorder_.seconds() - begin_s;
    const StepPosition position = position_in(total);
    trainer_.step(rate_, updated_, position);
    ended_early_ = position.share < 1;
    ++step_;
    if (const std::string text = trainer_.notice(); !text.empty() && plan_.notice && plan_.rank == 0)
      plan_.notice(text);
    if (plan_.trace && number >= kWarmupSteps && number < kWarmupSteps + kTracedSteps)
      plan_.trace({step_, begin_s, wait_s, step_s, trainer_.spans()});
    if (plan_.trace && number + 1 == kWarmupSteps + kTracedSteps) trainer_.enable_timing(false);
    recorder_.add_step(batch.epoch, static_cast<std::int64_t>(batch.labels.size()) * plan_.world, wait_s);
    budget_.step_done(recorder_.training_seconds());
    if (recorder_.history().evaluations.empty() && plan_.validation)
      budget_.set_reserve(kEvaluationShare * views_of(settings_.test_augmentation) *
                          static_cast<double>(plan_.validation_batches) * budget_.step_seconds());
  }

  // The number of evaluations that are due in the first `step` steps.
  [[nodiscard]] std::int64_t evaluations_at(std::int64_t step) const {
    const std::int64_t steps = step - plan_.first_step;
    const std::int64_t full = plan_.epoch_steps.known() ? plan_.epoch_steps.full_steps_at(steps) : steps;
    return full >= 0 ? full / plan_.evaluate_every : -((-full + plan_.evaluate_every - 1) / plan_.evaluate_every);
  }

  void between_steps(const Decision& decision) {
    const std::int64_t every = std::max<std::int64_t>(plan_.report_every, 1);
    if (step_ == plan_.start_step + 1 || step_ / every != pointed_step() / every) add_point();
    if (plan_.evaluate_every > 0 && evaluations_at(step_) > evaluations_at(last_.evaluated_step)) return evaluate();
    if (plan_.world == 1 ? checkpoint_due() : decision.checkpoint) {
      const double begin_s = recorder_.seconds();
      checkpoint();
      recorder_.pause_since(begin_s);
    }
  }

  void note_emulation() {
    if (settings_.precision == Precision::kFloat32 || !plan_.notice || plan_.rank != 0) return;
    const PrecisionSupport support = precision_supported(settings_.device, settings_.precision);
    if (!support.supported)
      plan_.notice(fmt::format("precision {}: {}; it is emulated, and slower than float32",
                               to_string(settings_.precision), support.reason));
  }

  // A run that is limited by time may end earlier than its last step expected.
  void end_averages() {
    if (settings_.lookahead.every == 0 || recorder_.history().reached_target) return;
    trainer_.end_averages();
    last_.evaluated_step = plan_.start_step - 1;
  }

  void validate() {
    if (!plan_.validation) return;
    const double training_s = recorder_.training_seconds();
    const std::unique_ptr<BatchSource> validation = plan_.validation();
    OwnData data(*validation, own_failed_);
    // The ranks end an evaluation together: a stop waits for it.
    const Evaluation result = evaluate_all(trainer_, data, plan_.world == 1 ? plan_.stop : std::stop_token());
    const auto samples = static_cast<double>(result.samples);
    if (!std::isfinite(result.loss_sum) && plan_.notice && plan_.rank == 0)
      plan_.notice(fmt::format("evaluation at step {}: the loss is {}; expected a finite number", step_,
                               loss_text(result.loss_sum)));
    recorder_.add_evaluation(
        {step_, recorder_.seconds(), training_s, static_cast<double>(result.correct) / samples,
         result.loss_sum / samples,
         settings_.classes > kTopClasses ? std::optional(static_cast<double>(result.correct_top5) / samples)
                                         : std::nullopt},
        plan_.target);
  }

  void evaluate() {
    const double begin_s = recorder_.seconds();
    validate();
    checkpoint();
    last_.evaluated_step = step_;
    budget_.set_reserve(recorder_.seconds() - begin_s);
    recorder_.pause_since(begin_s);
  }

  [[nodiscard]] DataPosition data_position() const { return plan_.data_position ? plan_.data_position() : nullptr; }

  // `check`: whether the loss of the last step is that of the state.
  void checkpoint(bool check = true) {
    if (!checkpoints_.any()) return;
    if (check) (void)finite_loss();
    const bool at_update = settings_.accumulate > 1 && step_ == update_.step;
    const DataPosition position = at_update ? update_.position : data_position();
    auto snapshot = trainer_.snapshot({step_, position ? position() : "", plan_.normalisation, settings_.image_size});
    if (plan_.rank == 0) with_advice([&] { checkpoints_.write(std::move(snapshot), step_); });
    last_.checkpoint_s = recorder_.seconds();
  }

  // Adds to the error of a state with NaN or infinity what finite_loss() says.
  template <class Body>
  void with_advice(const Body& body) {
    try {
      body();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kCheck) throw;
      throw Error(ErrorKind::kCheck, fmt::format("{} (now {:.4g}){}", error.what(), rate_, newest_text()));
    }
  }
  std::string newest_text() {
    const std::filesystem::path newest = checkpoints_.newest();
    return newest.empty() ? "" : fmt::format("; the last checkpoint is {}", newest.string());
  }

  // Ends a run that is stopped.
  [[noreturn]] void stop(const Error& error) {
    if (!checkpoints_.any())
      throw Error(ErrorKind::kCancelled,
                  fmt::format("{} after step {}; no checkpoint was written, because the run has no --checkpoint-dir",
                              error.what(), step_));
    // The data may have ended a run between updates.
    const bool undone = !updated_;
    if (undone) {
      trainer_.undo_partial_update();
      step_ = update_.step;
    }
    if (step_ == plan_.start_step) throw error;
    checkpoint(!undone);
    with_advice([&] { checkpoints_.finish(); });
    // Only one rank writes.
    const CheckpointTargets& targets = plan_.checkpoints;
    const std::filesystem::path file = plan_.rank == 0          ? checkpoints_.newest()
                                       : targets.folder.empty() ? targets.file
                                                                : targets.folder;
    throw Error(ErrorKind::kCancelled,
                fmt::format("{} after step {}; continue with --resume {}", error.what(), step_, file.string()));
  }

  // Ends a run whose exchange with the other ranks failed. Each rank notices it; one of them has the message.
  [[noreturn]] void lost_rank(const Error& error) {
    if (!trainer_.reports_lost_rank()) throw Error(ErrorKind::kCancelled, "");
    throw Error(ErrorKind::kIo,
                fmt::format("training: another rank ended after step {}; expected {} ranks. {} ({})", step_,
                            plan_.world, how_to_continue(plan_.checkpoints.folder), first_sentence(error.what())));
  }

  double finite_loss() {
    const double loss = trainer_.loss();
    if (std::isfinite(loss)) {
      last_.finite_step = step_;
      return loss;
    }
    throw Error(ErrorKind::kCheck,
                fmt::format("training: the loss at step {} is {}; expected a finite number{}. Lower the learning rate "
                            "(now {:.4g}){}",
                            step_, loss_text(loss),
                            last_.finite_step > 0 ? fmt::format(", as at step {}", last_.finite_step) : "", rate_,
                            newest_text()));
  }

  void add_point() {
    recorder_.add_point(step_, finite_loss(), rate_);
    own_failed_ = true;
    if (plan_.report) plan_.report(recorder_.history());
    own_failed_ = false;
  }

  Trainer& trainer_;
  const TrainSettings& settings_;
  bool own_failed_ = false;  // an error of the data or the report of this rank, not of the exchange
  OwnData source_;
  const TrainPlan& plan_;
  StepBudget budget_;
  HistoryRecorder recorder_;
  Checkpoints checkpoints_;
  std::int64_t step_;
  double rate_ = 0;
  bool updated_ = true;       // whether the last step updated the weights
  bool ended_early_ = false;  // the last step was not expected to be the last one
  Last last_;
  Update update_;  // the last one, with several steps per update
};

}  // namespace

TrainHistory run_training(Trainer& trainer, const TrainSettings& settings, BatchSource& source, const TrainPlan& plan,
                          Clock& clock) {
  check_plan(plan);
  check_equal_plans(trainer, plan);
  return TrainingRun(trainer, settings, source, plan, clock).run();
}

Evaluation evaluate_all(Trainer& trainer, BatchSource& source, std::stop_token stop) {
  trainer.average_statistics();
  for (HostBatch batch; source.next(batch);) {
    if (stop.stop_requested()) throw_stopped();
    trainer.load(batch);
    trainer.evaluate();
  }
  const Evaluation result = trainer.evaluate_done();
  if (result.samples == 0)
    throw Error(ErrorKind::kInput, "evaluation: found no samples in the validation data; expected at least one");
  return result;
}

}  // namespace unstarve
