#pragma once
// The autotuner's choice of threads, prefetch and reads in flight from the Profile of a running loader (model.h).
//
// The aim is a consumer that does not wait, at the lowest CPU cost. Among all settings within the budgets whose
// consumer step (work and wait) is within 1 % of the shortest, the choice has the fewest threads, then the smallest
// prefetch.
//
// Read-ahead starts if samples sleep for their records and the consumer's step is as short with readers as with more
// threads. It stops if readers hardly sleep any more and the consumer's step is as short without them.
//
// Threads:  pure functions. Failure: as load_of().
// Budgets:  not exceeded, except by the minimum of one thread and `min_prefetch` batches.

#include <cstdint>
#include <string>

#include "unstarve/core/profile.h"
#include "unstarve/pipeline/autotune/model.h"

namespace unstarve::autotune {

struct Settings {
  int threads = 1;
  int prefetch = 2;
  int read_ahead = 0;
  friend bool operator==(const Settings&, const Settings&) = default;
};

struct Limits {
  double cores = 1;        // usable by the process
  double cpu_budget = 0;   // cores for the loader; 0: all
  double byte_budget = 0;  // for batches, scratch memory of workers and read-ahead; 0: no limit
  int threads = 0;         // fixed number, regardless of budgets; 0: autotuned
  int max_threads = 64;    // for samples that sleep; samples that compute get at most one thread per core
  int min_prefetch = 2;    // two batches hide jitter that the model does not describe
  int max_prefetch = 32;
  int max_read_ahead = 0;            // 0: no read-ahead
  bool may_stop_read_ahead = false;  // once started
};

struct Choice {
  Settings settings;
  double rate = 0;        // samples/s that the loader can deliver
  double wait_share = 0;  // share of the consumer's time
  double bytes = 0;
  std::string reason;  // sentences with figures
};

[[nodiscard]] Choice choose(const Profile& profile, const Limits& limits);

// The prediction of the model for given settings, without a reason.
[[nodiscard]] Choice judge(const Load& load, const Settings& settings, const Limits& limits);

}  // namespace unstarve::autotune
