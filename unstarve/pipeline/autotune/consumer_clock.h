#pragma once
// The consumer's time as the loader sees it: in its calls it waits, between them it works.
//
// A time between two calls that is many times the usual one is a pause (a validation, a checkpoint, a stopped process):
// it says nothing of the steps to come and is counted apart. So is that after the first batch, when a consumer imports,
// compiles and allocates.
//
// Threads: enter(), leave() by one consumer at a time; profile() by any.

#include <atomic>
#include <cstdint>

#include "unstarve/core/profile.h"

namespace unstarve::autotune {

class ConsumerClock {
 public:
  // The consumer asks for a batch, or whether there is one.
  void enter(std::int64_t now_ns);
  // It goes again, with a batch or without.
  void leave(std::int64_t now_ns, bool with_batch);
  // At `now_ns`, of a consumer that is waiting included: the wait so far counts.
  [[nodiscard]] ConsumerProfile profile(std::int64_t now_ns) const;

 private:
  // One writer.
  template <class T>
  static void add(std::atomic<T>& counter, T by) {
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  std::int64_t left_ns_ = -1;  // with a batch, and has not come back since
  bool begun_ = false;         // it has worked on a batch
  double usual_ns_ = 0;        // a running mean of its work on a batch
  std::int64_t worked_ = 0;    // batches in that mean
  std::atomic<std::int64_t> entered_ns_{-1};
  std::atomic<std::int64_t> batches_{0}, busy_ns_{0}, wait_ns_{0}, pauses_{0}, paused_ns_{0};
  std::atomic<double> squares_us2_{0};
};

}  // namespace unstarve::autotune
