#pragma once
// The consumer's time as the loader sees it: in its calls it waits, between them it works.
//
// A time between two calls that is many times the usual one is a pause (a validation, a checkpoint, a stopped process):
// it says nothing of the steps to come and is counted apart. So is that after the first batch, when a consumer imports,
// compiles and allocates. A pause that is under way counts as soon as it is known to be one.
//
// Threads: any. Cost: a lock per call.

#include <cstdint>
#include <mutex>

#include "unstarve/core/profile.h"

namespace unstarve::autotune {

class ConsumerClock {
 public:
  // The consumer asks for a batch, or whether there is one.
  void enter(std::int64_t now_ns);
  // It goes again, with a batch or without.
  void leave(std::int64_t now_ns, bool with_batch);
  // At `now_ns`, of a consumer that is waiting or pausing included: the wait, the pause so far counts.
  [[nodiscard]] ConsumerProfile profile(std::int64_t now_ns) const;

 private:
  // Whether so long a time since it left is a pause; expects the lock. What is one stays one as it grows.
  [[nodiscard]] bool is_pause(std::int64_t ns) const;

  mutable std::mutex mutex_;
  std::int64_t entered_ns_ = -1;  // and has not left since
  std::int64_t left_ns_ = -1;     // with a batch, and has not come back since
  bool begun_ = false;            // it has worked on a batch
  double usual_ns_ = 0;           // a running mean of its work on a batch
  std::int64_t worked_ = 0;       // batches in that mean
  ConsumerProfile counted_;
};

}  // namespace unstarve::autotune
