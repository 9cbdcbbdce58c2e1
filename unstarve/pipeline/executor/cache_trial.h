#pragma once
// cache.what auto: tries on some samples what each cache would save, and writes the one that pays into the spec.
//
//   some records, read twice ──▶ made without a cache, and with one of pixels ──▶ CacheProfile ──▶ choose_cache()
//
// Pixels are tried at the last place that they may be kept at, before the first random operation, and at every place
// before it where they are fewer than at all later ones: elsewhere a cache would hold fewer samples and save less of
// each.
//
// What is measured is one thread's work on up to kTrialSamples samples that are spread over those that take part; of
// reading, that of a record met again: from the page cache where the data fit into it, else as it was met first, and
// shared among the reads in flight that the data reward. A file is expected to be read from the page cache, and is
// given no more samples than that can keep. decode.reduced_scale makes other pixels than a cache of them holds: then
// there is none of pixels, so that a choice by measurement never decides about bits.
//
// Threads: the caller's. Memory: at most kTrialBytes of records and as much of pixels, freed at the end; within the
// cache's part where memory is limited.
// Cost:    some 50 ms for photographs and a place; where reading takes long, some 10 reads.
// Failure: samples that cannot be read or decoded do not count; what else fails leaves it.

#include <cstdint>

#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

inline constexpr std::uint64_t kTrialSamples = 16;
inline constexpr std::uint64_t kTrialBytes = 64'000'000;

// Precondition: plan.spec.cache.what is kAuto, and the plan is made but for its passes. Afterwards it is one of the
// others, and plan.cache_chosen tells why. `epochs`: that will be run; 0: many.
void decide_cache(Plan& plan, std::uint32_t epochs, Consumer consumer);

}  // namespace unstarve
