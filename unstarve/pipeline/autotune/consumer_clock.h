#pragma once
// Measures the consumer as seen by the loader: it waits inside calls of the loader and works between them.
//
// A time between two calls that is much longer than the average, or was announced, is a pause (validation, checkpoint,
// stopped process).
// Pauses do not predict later steps and are counted separately. The time after the first batch, when a consumer
// imports, compiles and allocates, is a pause, too. A running pause counts as soon as it is recognised.
//
// Threads: any. Cost: a lock per call.

#include <cstdint>
#include <mutex>

#include "unstarve/core/profile.h"

namespace unstarve::autotune {

class ConsumerClock {
 public:
  // The consumer calls the loader for a batch.
  void enter(std::int64_t now_ns);
  // The call returns, with or without a batch.
  void leave(std::int64_t now_ns, bool with_batch);
  // Until the next call the consumer does something else: that time is a pause, even if it is short.
  void pause();
  // The profile at `now_ns`, including a wait or pause in progress.
  [[nodiscard]] ConsumerProfile profile(std::int64_t now_ns) const;

 private:
  // Whether a time of `ns` since the last batch is a pause; monotonic in `ns`. Precondition: mutex_ is locked.
  [[nodiscard]] bool is_pause(std::int64_t ns) const;

  mutable std::mutex mutex_;
  std::int64_t entered_ns_ = -1;  // start of the running call; -1: none
  std::int64_t left_ns_ = -1;     // return of the last batch; -1: the consumer is in a call
  bool started_ = false;          // the first batch was processed
  bool announced_ = false;        // by pause()
  double mean_ns_ = 0;            // running mean of the work on a batch
  std::int64_t worked_ = 0;       // batches in the mean
  ConsumerProfile counted_;
};

}  // namespace unstarve::autotune
