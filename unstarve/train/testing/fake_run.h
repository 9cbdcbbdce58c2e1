#pragma once
// A trainer, its snapshots and batches for tests of the loop, on a manual clock.
//
// Threads: as Trainer.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/train/loop.h"
#include "unstarve/train/testing/idle_trainer.h"

namespace unstarve::testing {

inline constexpr std::int64_t kSecond = 1'000'000'000;

// Writes nothing, so that the loop can be tested without files. Counts the writes, by any thread.
class FakeSnapshot final : public TrainSnapshot {
 public:
  explicit FakeSnapshot(std::atomic<int>& written) : written_(written) {}
  void write(const std::filesystem::path&) const override { ++written_; }

 private:
  std::atomic<int>& written_;
};

class FakeTrainer final : public IdleTrainer {
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
  bool reports_lost_rank() override {
    ++asked_for_reports;
    return reports;
  }
  void end_averages() override { ++ended_averages; }
  void undo_partial_update() override { ++undone; }

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
  int asked_for_reports = 0;
  int ended_averages = 0;
  int undone = 0;               // partial updates
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

inline constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();

}  // namespace unstarve::testing
