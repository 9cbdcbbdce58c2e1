#pragma once
// cache.what: auto. Measures on a few samples what each kind of cache would save, and chooses the one that saves most.
//
//   some records, read twice ──▶ processed without and with a cache of pixels ──▶ CacheProfile ──▶ choose_cache()
//
// A cache of pixels is tried after the last operation before the first random one, and after every earlier operation
// whose output has fewer pixels than all later ones: elsewhere a cache would hold fewer samples and save less of each.
//
// One thread processes up to kTrialSamples samples, spread over the data. Reading counts as it will be when a record is
// read again: from the page cache where the data fits into it, else as the first time, divided by the reads in flight
// that the data benefits from. A file is expected to be read from the page cache, and holds no more samples than that.
// With scale_into_decode there is no cache of pixels: it would change pixels, so a measurement would decide the result.
//
// Threads: the caller's. Memory: at most kTrialBytes of records and as many of pixels, freed at the end; under a memory
// limit within the cache's part.
// Cost:    about 50 ms for photographs and each position; where reading is slow, about 10 reads.
// Failure: samples that cannot be read or decoded do not count; other errors are thrown.

#include <cstdint>
#include <string>

#include "unstarve/pipeline/plan/consumer.h"
#include "unstarve/pipeline/plan/execution.h"
#include "unstarve/pipeline/plan/gather_facts.h"
#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

inline constexpr std::uint64_t kTrialSamples = 16;
inline constexpr std::uint64_t kTrialBytes = 64'000'000;

struct CacheTrial {
  Plan plan;  // as built, before any pass, with cache.what: auto
  ExecutionPlan execution;
  const RunData& data;
  std::uint64_t batches_per_epoch = 0;
};

struct CacheDecision {
  CacheSpec cache;  // never auto
  std::string reason;
};

[[nodiscard]] CacheDecision decide_cache(const CacheTrial& trial, const RunOptions& run);

}  // namespace unstarve
