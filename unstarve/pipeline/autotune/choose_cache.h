#pragma once
// Which cache pays: from what some samples cost with each to the one that is kept. A pure function;
// passes/cache_trial.h measures.
//
// A cache in memory holds so many of the samples as its budget does, first come, first kept, and meets every other use
// of them. With h for the part of all uses that it meets, a sample costs h hit + (1 - h) miss and the keeping of those
// that are new, where a miss of a cache of pixels is decoded whole. The cache with the shortest sample is taken where
// that is shorter by kWorth at least; among those within kAlike of the shortest the one that asks for the least memory:
// encoded records, then a file (the page cache's, shared by the processes of a host), then pixels.
//
// Threads: pure functions. Units: seconds of one thread, bytes.

#include <cstdint>
#include <string>
#include <vector>

namespace unstarve::autotune {

enum class CacheTier { kNone, kEncoded, kPixels, kFile };

// A sample with a cache.
struct CacheCost {
  double hit_s = 0;
  double miss_s = 0;            // and is not kept
  double keep_s = 0;            // to keep one that was missed
  double bytes_per_sample = 0;  // its bookkeeping included; 0: this cache cannot be had
};

// A cache of pixels as they are after so many operations.
struct PlacedCost {
  int after = 0;
  CacheCost cost{};
};

struct CacheProfile {
  double sample_s = 0;        // without a cache, when it is met again
  CacheCost encoded, pixels;  // pixels: after all operations that may come before it
  double samples = 0;         // that take part
  double epoch_samples = 0;   // of one epoch, in this process
  int epochs = 0;             // that will be run; 0: many
  double memory_bytes = 0;    // that a cache may take
  double file_bytes = 0;      // that a file of pixels may take, and the page cache keep; 0: there is to be no file
  std::vector<PlacedCost> earlier{};  // places where pixels are fewer than at all later ones, from the fewest on
};

struct CacheChoice {
  CacheTier tier = CacheTier::kNone;
  int after = -1;    // operations that its pixels have behind them; -1: all that may come before it
  double held = 0;   // of the samples, the part that it has room for
  double hits = 0;   // of all uses of samples, the part that it meets
  double gain = 0;   // of a sample's time without a cache, the part that is saved
  double bytes = 0;  // that it comes to hold
  std::string reason;
};

// Less of a sample's time is not worth a cache's memory, nor to be told from chance.
inline constexpr double kWorth = 0.1;
inline constexpr double kAlike = 0.05;

// Profiles of no samples, or of samples that take no time, get none.
[[nodiscard]] CacheChoice choose_cache(const CacheProfile& profile);

// Of all uses, the part that is not a sample's first: `epochs` epochs of `epoch_samples` each, drawn out of `samples`.
[[nodiscard]] double repeated_part(double samples, double epoch_samples, int epochs);

}  // namespace unstarve::autotune
