#pragma once
// Decides which of a worker's samples are timed, and adds the times to the worker's counters.
//
// Clock reads and system calls would slow down cheap samples, so of those only some are measured.
//
// Threads: the worker's; created by that thread.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "unstarve/core/machine/thread_time.h"
#include "unstarve/pipeline/executor/counters.h"
#include "unstarve/pipeline/executor/stage_times.h"

namespace unstarve {

class WorkerTimer {
 public:
  explicit WorkerTimer(StageCounters::Worker& counters) : counters_(counters) {}

  // A claim should take about this long: far more than a critical section (about 100 ns), far less than a batch.
  static constexpr std::int64_t kClaimNs = 50'000;
  static constexpr std::int64_t kMostPerClaim = 64;
  [[nodiscard]] std::size_t samples_per_claim() const {
    return static_cast<std::size_t>(
        std::clamp<std::int64_t>(kClaimNs / std::max<std::int64_t>(sample_ns_, 1), 1, kMostPerClaim));
  }

  void begin_claim();
  // Whether the next sample is timed.
  [[nodiscard]] bool time_next() { return sample_ns_ > kAlwaysTimedNs || samples_++ % kTimedEvery == 0; }
  // The worker starts on the samples of its claim.
  void begin_samples();
  // The samples are made and written; returns the time.
  std::int64_t end_samples(std::size_t samples);

  [[nodiscard]] StageTotals& totals() { return totals_; }

 private:
  // Slower samples are timed one by one, faster ones every kTimedEvery-th time: a timed sample reads the clock five
  // times, about 25 ns each.
  static constexpr std::int64_t kAlwaysTimedNs = 20'000;
  static constexpr std::uint64_t kTimedEvery = 32;
  // CPU time costs a system call: it is taken for claims of slower samples, and for every kCpuEvery-th other claim.
  static constexpr std::int64_t kAlwaysCpuNs = 200'000;
  static constexpr std::uint64_t kCpuEvery = 16;
  // The run delay costs two.
  static constexpr std::int64_t kDelayEveryNs = 20'000'000;

  StageCounters::Worker& counters_;
  StageTotals totals_;                 // of the current claim
  std::int64_t sample_ns_ = kClaimNs;  // of the last claim; at first a guess that claims one sample
  std::uint64_t samples_ = 0, claims_ = 0;
  std::int64_t start_ns_ = 0;
  std::optional<std::int64_t> sleeps_;  // at the start of the claim, if they are counted
  RunDelay delay_;
  std::int64_t delay_taken_ns_ = 0;
};

// Adds the time that a worker waits for a record of the read-ahead to its reading.
class ReadWait {
 public:
  ReadWait(StageTotals& totals, bool timed);
  void end();

 private:
  StageTotals& totals_;
  const bool timed_;
  std::int64_t start_ns_ = 0, start_cpu_ns_ = 0;
};

}  // namespace unstarve
