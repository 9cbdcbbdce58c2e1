#pragma once
// Chooses the fastest cache from the measured costs of some samples. A pure function; executor/cache_trial.h measures.
//
// A cache stores samples in the order of their first use until its budget is full; every later use of a stored sample
// is a hit. With hit rate h, a sample costs h hit + (1 - h) miss, plus the cost of storing new samples. A miss of a
// cache of pixels decodes the whole image. The cache with the shortest sample time is chosen if it saves at least
// kMinGain. Among caches within kEqualGain of the best, the one that needs the least memory is chosen: encoded records,
// then a file (in the page cache, shared by the processes of a host), then pixels.
//
// Threads: pure functions. Units: seconds of one thread, bytes.

#include <cstdint>
#include <string>
#include <vector>

namespace unstarve::autotune {

enum class CacheTier { kNone, kEncoded, kPixels, kFile };

// The cost of a sample with a cache.
struct CacheCost {
  double hit_s = 0;
  double miss_s = 0;            // without storing it
  double store_s = 0;           // to store a missed sample
  double bytes_per_sample = 0;  // including bookkeeping; 0: cache not available
};

// The cost of a cache of pixels after `after` operations.
struct PixelCacheCost {
  int after = 0;
  CacheCost cost{};
};

struct CacheProfile {
  double sample_s = 0;                    // without a cache, for repeated use
  CacheCost encoded, pixels;              // pixels: after all operations before the cache
  double samples = 0;                     // selected for the run
  double epoch_samples = 0;               // of one epoch in this process
  int epochs = 0;                         // of the run; 0: many
  double memory_bytes = 0;                // budget of a cache in memory
  double file_bytes = 0;                  // budget of a file of pixels, limited by the page cache; 0: no file
  std::vector<PixelCacheCost> earlier{};  // earlier cache positions with fewer pixels, fewest first
};

struct CacheChoice {
  CacheTier tier = CacheTier::kNone;
  int after = -1;    // operations before the cache of pixels; -1: all possible ones
  double held = 0;   // share of the samples that fit
  double hits = 0;   // hit rate over all uses
  double gain = 0;   // share of the sample time that is saved
  double bytes = 0;  // size of the full cache
  std::string reason;
};

// Minimum gain that justifies the memory of a cache, and the difference of gains below measurement noise.
inline constexpr double kMinGain = 0.1;
inline constexpr double kEqualGain = 0.05;

// No cache for a profile without samples or without time.
[[nodiscard]] CacheChoice choose_cache(const CacheProfile& profile);

// The share of uses that repeat a sample, for `epochs` epochs of `epoch_samples` drawn from `samples`.
[[nodiscard]] double repeated_share(double samples, double epoch_samples, int epochs);

}  // namespace unstarve::autotune
