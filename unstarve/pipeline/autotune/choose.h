#pragma once
// The autotuner's choice: from what was measured of a running loader to how many threads, batches ahead and reads in
// flight it should have. A pure function; model.h tells by which model, controller.h when it is asked.
//
// The aim is a consumer that does not wait, at the least CPU: of all settings within the budgets whose step of the
// consumer (its work and its wait) is within 1 % of the shortest there is, the one with the fewest threads, then with
// the fewest batches ahead. A consumer that the loader cannot keep up with thus gets the greatest throughput; one that
// is slow gets one thread.
//
// Where nothing is read ahead yet but could be (Limits::most_read_ahead, Profile::read_ahead 0), samples that sleep
// wait for their records: then readers are begun instead of threads that would wait beside each other, where the
// consumer's step is as short with them. Where records are read ahead and readers hardly sleep for them any more
// (Limits::may_end_ahead), what they bring lies in memory: they are ended where the consumer's step is as short
// without them.
//
// Threads:  pure functions. Failure: as load_of().
// Budgets:  never passed, but by the least there is: one thread, and as many batches as `least_prefetch`.

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
  double cores = 1;        // that the process may use
  double cpu_budget = 0;   // of those for the loader, in cores; 0: all
  double byte_budget = 0;  // for batches, workers' scratch and records read ahead; 0: any
  int threads = 0;         // as given, whatever the budgets; 0: open
  int most_threads = 64;   // of stages that sleep; those that compute get no more than cores
  int least_prefetch = 2;  // two hide the jitter that no model knows
  int most_prefetch = 32;
  int most_read_ahead = 0;     // 0: nobody reads ahead
  bool may_end_ahead = false;  // reading ahead, once begun
};

struct Choice {
  Settings settings;
  double rate = 0;        // samples/s that the loader could give
  double wait_share = 0;  // of the consumer's time
  double cores = 0;       // busy with the loader at the rate that the consumer takes
  double bytes = 0;
  std::string reason;  // one sentence, with the figures
};

[[nodiscard]] Choice choose(const Profile& profile, const Limits& limits);

// What the model says of given settings; the reason is left out.
[[nodiscard]] Choice judge(const Load& load, const Settings& settings, const Limits& limits);

}  // namespace unstarve::autotune
