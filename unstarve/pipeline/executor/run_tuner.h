#pragma once
// Tunes a running loader: measures it, and applies what the autotuner decides (autotune/controller.h).
//
// Worker threads call it periodically. A call measures the time since the previous one, asks the controller for new
// settings, and changes threads, prefetch and read-ahead of the executor. In exact order no
// setting changes a batch.
//
// Ownership: borrows the run, the executor and the consumption.
// Threads:   any; one tunes at a time, concurrent calls return immediately.
// Failure:   none. Threads or readers that cannot be started lower the controller's limits, and the run continues.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "unstarve/core/profile.h"
#include "unstarve/pipeline/autotune/consumer_clock.h"
#include "unstarve/pipeline/autotune/controller.h"
#include "unstarve/pipeline/executor/counters.h"
#include "unstarve/pipeline/executor/worker.h"

namespace unstarve {

class Executor;

// What the consumer has received, and its time in and between its calls.
struct Consumption {
  autotune::ConsumerClock clock;
  std::atomic<std::int64_t> batches{0};
  std::atomic<std::int64_t> samples{0};
};

class RunTuner {
 public:
  // `executor` is not used before its workers call.
  RunTuner(const Run& run, Executor& executor, const Consumption& consumption);

  // For the executor; never due if the plan leaves nothing to be tuned.
  [[nodiscard]] PeriodicCall& periodic() { return periodic_; }
  // Counts since the construction, the settings, and the decisions so far.
  [[nodiscard]] Profile profile() const;

 private:
  void tune(std::int64_t now_ns);
  // These expect mutex_ to be locked.
  [[nodiscard]] autotune::Limits limits() const;
  [[nodiscard]] Profile measure() const;
  void apply(const autotune::Settings& settings, double now_s);
  void begin_read_ahead(double now_s);

  const Run& run_;
  Executor& executor_;
  const Consumption& consumption_;
  const std::int64_t started_ns_;
  PeriodicCall periodic_;

  mutable std::mutex mutex_;
  autotune::Settings settings_;
  std::optional<autotune::Controller> controller_;  // from the first call on
  Profile last_;                                    // at the previous decision
  StageCounters::Totals last_totals_;
  bool considered_ = false;  // a window without a pause
};

}  // namespace unstarve
