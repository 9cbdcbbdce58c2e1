#pragma once
// A Profile: what was measured of one run, as plain data. The verdict and the autotuner are pure functions of it.
//
// The JSON form carries `version`; a reader refuses a version it does not know and ignores fields it does not know.
// Times are nanoseconds summed over threads, counts are samples or batches as named.

#include <cstdint>
#include <string>
#include <vector>

namespace unstarve {

inline constexpr int kProfileVersion = 1;

// One stage of the loader, summed over its worker threads.
struct StageProfile {
  std::string name;          // "read", "decode", "augment", "store", "wait"
  std::int64_t samples = 0;  // samples that passed
  std::int64_t busy_ns = 0;  // thread time spent (estimated from a sample of timed records)
  std::int64_t bytes = 0;    // bytes that came out of the stage
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
  double cpu_cores_busy = 0;  // process CPU time / wall time
  std::vector<StageProfile> stages;
  std::vector<StepPart> step;
  std::vector<UtilisationPoint> utilisation;
};

[[nodiscard]] std::string to_json(const Profile& profile);
// Throws Error(kInput) on malformed JSON, a missing field, or an unknown version.
[[nodiscard]] Profile profile_from_json(const std::string& text);

}  // namespace unstarve
