#pragma once
// What every worker thread counts about every stage: cheap enough to stay on.
//
// Each worker has cache lines of its own and is their only writer, so counting is a plain load, add and store; a reader
// sums over the workers at any time and sees each counter at some recent value.
// Reading the clock costs more than small stages, so only some samples are timed: time() says how long how many samples
// took, and the sum scales that to all samples counted.
//
// Ownership: owns its counters; a Worker is a borrowed handle. Threads: worker(i) is used by one thread at a time, sum()
// by any. Failure: Error(kArgument) from the constructor and worker(). Cost: no allocation but in construction and sum().

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
    // `samples` of those took `ns`.
    void time(std::size_t stage, std::int64_t samples, std::int64_t ns) noexcept {
      add(stages_[stage].timed_samples, samples);
      add(stages_[stage].timed_ns, ns);
    }

   private:
    friend class StageCounters;
    struct Stage {
      std::atomic<std::int64_t> samples{0}, bytes{0}, timed_samples{0}, timed_ns{0};
    };
    // One writer: no locked instruction is needed.
    static void add(std::atomic<std::int64_t>& counter, std::int64_t by) noexcept {
      counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
    }
    std::array<Stage, kMaxStages> stages_;
  };

  // Between 1 and kMaxStages names, at least one worker.
  StageCounters(std::vector<std::string> stages, int workers);

  [[nodiscard]] Worker& worker(int index);
  // One entry per stage, in the order of construction, summed over the workers.
  [[nodiscard]] std::vector<StageProfile> sum() const;

 private:
  const std::vector<std::string> names_;
  std::vector<Worker> workers_;
};

}  // namespace unstarve
