#include "unstarve/train/loop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

// First steps excluded from the measured speed, while kernels are generated and memory pools filled.
constexpr std::int64_t kWarmupSteps = 3;
// Assumed time of a batch in evaluation relative to a step, until measured: the forward pass has a third of the
// multiply-adds.
constexpr double kEvaluationShare = 1.0 / 3.0;

void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, "training was stopped");
}

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

class Stopwatch {
 public:
  explicit Stopwatch(Clock& clock) : clock_(clock), start_ns_(clock.now_ns()) {}
  [[nodiscard]] double seconds() const { return static_cast<double>(clock_.now_ns() - start_ns_) * 1e-9; }

 private:
  Clock& clock_;
  std::int64_t start_ns_;
};

}  // namespace

TrainHistory run_training(Trainer& trainer, const TrainSettings& settings, BatchSource& source, const TrainPlan& plan,
                          Clock& clock) {
  if (plan.steps <= 0 && !(plan.minutes > 0)) {
    throw Error(
        ErrorKind::kArgument,
        fmt::format("training: found {} steps and {} minutes; expected one of them above 0", plan.steps, plan.minutes));
  }
  if (plan.steps > 0 && plan.start_step >= plan.steps) {
    throw Error(
        ErrorKind::kArgument,
        fmt::format(
            "training: found {} of {} steps already done; expected at least one left. Increase the number of epochs",
            plan.start_step, plan.steps));
  }
  TrainHistory history;
  StepBudget budget(plan);
  const Stopwatch run(clock);
  std::int64_t step = plan.start_step;
  double rate = 0;
  std::int64_t evaluated_step = -1;  // of the last evaluation or checkpoint
  double evaluating_s = 0;           // total time of evaluations
  double mark_s = 0;                 // training time, waiting time and samples at the previous point
  double mark_wait_s = 0;
  std::int64_t mark_samples = 0;

  const auto evaluate = [&] {
    const double begin_s = run.seconds();
    if (plan.validation) {
      const Evaluation result = evaluate_all(trainer, *plan.validation(), plan.stop);
      const auto samples = static_cast<double>(result.samples);
      history.evaluations.push_back(
          {step, run.seconds(), static_cast<double>(result.correct) / samples, result.loss_sum / samples});
    }
    if (!plan.checkpoint.empty()) trainer.save(plan.checkpoint, {step, plan.resume_state ? plan.resume_state() : ""});
    evaluated_step = step;
    budget.set_reserve(run.seconds() - begin_s);
    evaluating_s += run.seconds() - begin_s;
  };

  const auto add_point = [&] {
    const double loss = trainer.loss();
    if (!std::isfinite(loss)) {
      throw Error(
          ErrorKind::kCheck,
          fmt::format(
              "training: the loss at step {} is {}; expected a finite number. Lower the learning rate (now {:.4g})",
              step, loss, rate));
    }
    const double now_s = run.seconds() - evaluating_s;
    const double elapsed_s = std::max(now_s - mark_s, 1e-9);
    history.points.push_back({step, history.samples, run.seconds(), loss, rate,
                              (history.wait_seconds - mark_wait_s) / elapsed_s,
                              static_cast<double>(history.samples - mark_samples) / elapsed_s});
    mark_s = now_s;
    mark_wait_s = history.wait_seconds;
    mark_samples = history.samples;
    if (plan.report) plan.report(history);
  };

  for (std::int64_t total = budget.total(step, 0); step < total; total = budget.total(step, run.seconds())) {
    throw_if_stopped(plan.stop);
    const double begin_s = run.seconds();

    HostBatch batch;
    if (!source.next(batch)) {
      throw Error(ErrorKind::kInput, fmt::format("training: the data ended after {} steps of {}", step, total));
    }
    history.wait_seconds += run.seconds() - begin_s;

    rate = scheduled_rate(settings, step, total);
    trainer.load(batch);
    trainer.step(rate);
    ++step;
    history.samples += static_cast<std::int64_t>(batch.labels.size());
    budget.step_done(run.seconds() - evaluating_s);
    if (history.evaluations.empty() && plan.validation) {
      budget.set_reserve(kEvaluationShare * static_cast<double>(plan.validation_batches) * budget.step_seconds());
    }

    if (step == plan.start_step + 1 || step % std::max<std::int64_t>(plan.report_every, 1) == 0) add_point();
    if (plan.evaluate_every > 0 && (step - plan.first_step) % plan.evaluate_every == 0) evaluate();
  }

  trainer.synchronise();
  if (history.points.empty() || history.points.back().step != step) add_point();
  if (evaluated_step != step) evaluate();
  history.steps = step;
  history.seconds = run.seconds();
  return history;
}

Evaluation evaluate_all(Trainer& trainer, BatchSource& source, std::stop_token stop) {
  Evaluation result;
  for (HostBatch batch; source.next(batch);) {
    throw_if_stopped(stop);
    trainer.load(batch);
    trainer.evaluate(result);
  }
  if (result.samples == 0)
    throw Error(ErrorKind::kInput, "evaluation: found no samples in the validation data; expected at least one");
  return result;
}

}  // namespace unstarve
