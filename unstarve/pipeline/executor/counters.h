#pragma once
// Counters per worker thread and stage, cheap enough to be always enabled.
//
// Each worker writes only its own cache lines, so counting is a plain load, add and store. A reader sums over the
// workers at any time and sees a recent value of each counter.
// Reading the clock costs more than a small stage, so only some samples are timed: time() records the time of a number
// of samples, and the sum scales it to all samples. Reading CPU time costs a system call, so it is measured for still
// fewer samples, as a share of their time.
//
// Ownership: owns its counters; a Worker is a borrowed handle.
// Threads:   worker(i) is used by one thread at a time, sum() by any.
// Failure:   Error(kArgument) from the constructor and worker().
// Cost:      allocates only in the constructor and sum().

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/core/profile.h"

namespace unstarve {

class StageCounters {
 public:
  static constexpr std::size_t kMaxStages = 8;

  class alignas(64) Worker {
   public:
    // `samples` passed `stage`, and `bytes` came out. Precondition: stage < the number of stages.
    void count(std::size_t stage, std::int64_t samples, std::int64_t bytes) noexcept {
      add(stages_[stage].samples, samples);
      add(stages_[stage].bytes, bytes);
    }
    // `samples` of those took `ns`; `squares_us2` is the sum of their squared times in microseconds.
    void time(std::size_t stage, std::int64_t samples, std::int64_t ns, double squares_us2 = 0) noexcept {
      add(stages_[stage].timed_samples, samples);
      add(stages_[stage].timed_ns, ns);
      add(stages_[stage].squares_us2, squares_us2);
    }
    // Some of those took `ns`, of which `cpu_ns` were CPU time.
    void cpu(std::size_t stage, std::int64_t ns, std::int64_t cpu_ns) noexcept {
      add(stages_[stage].both_ns, ns);
      add(stages_[stage].cpu_ns, cpu_ns);
    }
    // The thread was ready to run for `ns` but had no CPU.
    void delay(std::int64_t ns) noexcept { add(run_delay_ns_, ns); }
    // The thread gave up its CPU voluntarily `times` while it worked on `samples`.
    void sleeps(std::int64_t samples, std::int64_t times) noexcept {
      add(watched_samples_, samples);
      add(sleeps_, times);
    }

   private:
    friend class StageCounters;
    struct Stage {
      std::atomic<std::int64_t> samples{0}, bytes{0}, timed_samples{0}, timed_ns{0}, both_ns{0}, cpu_ns{0};
      std::atomic<double> squares_us2{0};
    };
    // One writer: no locked instruction is needed.
    template <class T>
    static void add(std::atomic<T>& counter, T by) noexcept {
      counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
    }
    std::array<Stage, kMaxStages> stages_;
    std::atomic<std::int64_t> run_delay_ns_{0}, watched_samples_{0}, sleeps_{0};
  };

  // Requires 1 to kMaxStages names and at least one worker.
  StageCounters(std::vector<std::string> stages, int workers);

  [[nodiscard]] Worker& worker(int index);
  // The sums over all workers at one moment.
  struct Totals {
    struct Stage {
      std::int64_t samples = 0, bytes = 0, timed_samples = 0, timed_ns = 0, both_ns = 0, cpu_ns = 0;
      double squares_us2 = 0;
    };
    std::array<Stage, kMaxStages> stages{};
    std::int64_t run_delay_ns = 0, watched_samples = 0, sleeps = 0;
  };
  [[nodiscard]] Totals totals() const;
  // One entry per stage, in the constructor's order: the counts between `since` and `until`.
  [[nodiscard]] std::vector<StageProfile> sum(const Totals& since, const Totals& until) const;
  [[nodiscard]] std::vector<StageProfile> sum() const { return sum({}, totals()); }
  // How long threads were ready but not running: the kernel's figure or, if they hardly ever slept, all time without a
  // CPU. The latter includes time that the kernel does not count: other guests of a hypervisor, a stopped process.
  [[nodiscard]] std::int64_t run_delay_ns(const Totals& since, const Totals& until) const;

 private:
  const std::vector<std::string> names_;
  std::vector<Worker> workers_;
};

}  // namespace unstarve
