#pragma once
// A Profile: what was measured of one run, as plain data. The verdict and the autotuner are pure functions of it.
//
// The JSON form carries `version`; a reader refuses a version it does not know and ignores fields it does not know.
// Version 1 lacks what is marked (2), versions 1 and 2 what is marked (3); they are read, those are then zero.
// Times are nanoseconds summed over threads, counts are samples or batches as named. Everything counted only grows
// while a loader runs, so that the difference of two profiles is the profile of the time between them.

#include <cstdint>
#include <string>
#include <vector>

namespace unstarve {

inline constexpr int kProfileVersion = 3;

// One stage of the loader, summed over its worker threads.
struct StageProfile {
  std::string name;          // "read", "decode", "augment", "store", "wait"
  std::int64_t samples = 0;  // samples that passed
  std::int64_t busy_ns = 0;  // thread time spent (estimated from a sample of timed records)
  std::int64_t bytes = 0;    // bytes that came out of the stage
  std::int64_t cpu_ns = 0;   // (2) of busy_ns, what the thread spent on a processor
  double squares_us2 = 0;    // (2) sum over samples of their squared time, in square microseconds: the spread
  // (3) Of busy_ns, what the thread did not sleep: it had a processor, waited for one that others had, or was kept from
  // it without having given it up. Known of "ahead" alone.
  std::int64_t awake_ns = 0;
};

// (2) What the loader saw of its consumer, between its calls and in them. Pauses, many times as long as the usual time
// between two calls (a validation, a checkpoint), are counted apart.
struct ConsumerProfile {
  std::int64_t batches = 0;  // that it worked on, pauses left out
  std::int64_t busy_ns = 0;  // its own work on them
  double squares_us2 = 0;    // sum over batches of the squared time
  std::int64_t wait_ns = 0;  // in next(), its own waits for the first batch included
  std::int64_t pauses = 0;
  std::int64_t paused_ns = 0;
};

// (2) A decision of the autotuner.
struct TuningStep {
  double seconds = 0;  // since the start of the run
  int threads = 0;
  int prefetch = 0;
  int read_ahead = 0;
  std::string reason;  // with the figures it follows from
};

// One part of a step as the consumer saw it: wait, copy, forward, backward, optimiser, ...; parts sum to wall time.
struct StepPart {
  std::string name;
  double mean_ms = 0;
  double median_ms = 0;
  double p95_ms = 0;
};

struct UtilisationPoint {
  double seconds = 0;      // since the start of the run
  double utilisation = 0;  // 0..1: compute time / wall time of the interval that ends here
};

struct Profile {
  int version = kProfileVersion;
  std::int64_t wall_ns = 0;
  std::int64_t samples = 0;
  std::int64_t batches = 0;
  int loader_threads = 0;
  int prefetch_batches = 0;
  double cpu_cores_busy = 0;       // process CPU time / wall time
  int read_ahead = 0;              // (2) records in flight, 0: the workers read
  int batch_samples = 0;           // (2) of a whole batch
  std::int64_t batch_bytes = 0;    // (2) of its pixels
  std::int64_t run_delay_ns = 0;   // (2) loader threads ready to run, but without a processor
  ConsumerProfile consumer;        // (2)
  std::vector<TuningStep> tuning;  // (2) the latest ones, in the order of time
  std::vector<StageProfile> stages;
  std::vector<StepPart> step;
  std::vector<UtilisationPoint> utilisation;
};

[[nodiscard]] std::string to_json(const Profile& profile);
// Throws Error(kInput) on malformed JSON, a missing field, or an unknown version.
[[nodiscard]] Profile profile_from_json(const std::string& text);

// What was measured between two profiles of one run. Stages are those of `later`; settings, step and utilisation too.
// Times of stages are estimates over a whole run; of short times between, StageCounters::sum() knows better.
[[nodiscard]] Profile between(const Profile& earlier, const Profile& later);

}  // namespace unstarve
