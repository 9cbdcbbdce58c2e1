#pragma once
// A Profile: the measurements of one run as plain data. The verdict and the autotuner are pure functions of it.
//
// The JSON form has a `version`. Readers reject unknown versions and ignore unknown fields. Fields marked (2) are
// absent in version 1, those marked (3) in versions 1 and 2; absent fields are read as zero.
// Times are nanoseconds summed over threads; counts are samples or batches as named. Counters never decrease while a
// loader runs, so the difference of two profiles is the profile of the time between them.

#include <cstdint>
#include <string>
#include <vector>

namespace unstarve {

inline constexpr int kProfileVersion = 3;

// One stage of the loader, summed over its worker threads.
struct StageProfile {
  std::string name;          // "read", "decode", "augment", "store", "read_ahead", "wait"
  std::int64_t samples = 0;  // samples that passed
  std::int64_t busy_ns = 0;  // thread time spent, estimated from the timed samples
  std::int64_t bytes = 0;    // output of the stage
  std::int64_t cpu_ns = 0;   // (2) CPU time within busy_ns
  double squares_us2 = 0;    // (2) sum over samples of their squared time in square microseconds, for the variance
  // (3) The part of busy_ns in which the thread did not sleep: it ran, waited for a CPU, or was preempted.
  // Measured for the read-ahead stage only.
  std::int64_t awake_ns = 0;
};

// (2) The consumer's time as measured by the loader, in and between its calls. Pauses (a validation, a checkpoint) are
// many times longer than the typical time between two calls and are counted separately.
struct ConsumerProfile {
  std::int64_t batches = 0;  // processed, without pauses
  std::int64_t busy_ns = 0;  // the consumer's own work on these batches
  double squares_us2 = 0;    // sum over batches of the squared time
  std::int64_t wait_ns = 0;  // time in next(), including the wait for the first batch
  std::int64_t pauses = 0;
  std::int64_t paused_ns = 0;
};

// (2) A decision of the autotuner.
struct TuningStep {
  double seconds = 0;  // since the start of the run
  int threads = 0;
  int prefetch = 0;
  int read_ahead = 0;
  std::string reason;  // with the figures that led to the decision
};

// One part of the consumer's step: wait, copy, forward, backward, optimiser, ... The parts sum to the wall time.
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
  int read_ahead = 0;              // (2) records in flight; 0: the worker threads read
  int batch_samples = 0;           // (2) in a full batch
  std::int64_t batch_bytes = 0;    // (2) pixels of a full batch
  std::int64_t run_delay_ns = 0;   // (2) worker threads were ready to run but had no CPU
  ConsumerProfile consumer;        // (2)
  std::vector<TuningStep> tuning;  // (2) the latest decisions, in chronological order
  std::vector<StageProfile> stages;
  std::vector<StepPart> step;
  std::vector<UtilisationPoint> utilisation;
};

[[nodiscard]] std::string to_json(const Profile& profile);
// Throws Error(kInput) on malformed JSON, a missing field, or an unknown version.
[[nodiscard]] Profile profile_from_json(const std::string& text);

// The measurements between two profiles of one run. Stage names, settings, `step` and `utilisation` are those of
// `later`. Stage times are estimates over a whole run; for short intervals StageCounters::sum() is more accurate.
[[nodiscard]] Profile between(const Profile& earlier, const Profile& later);

}  // namespace unstarve
