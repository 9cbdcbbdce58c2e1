#pragma once
// Reorders the samples of an epoch so that samples of similar sizes follow each other. Batches padded to their largest
// sample then need little padding.
//
//   epoch order:     | window 0 ............ | window 1 ............ | remainder |
//   in each window:  run, run, run, ...        samples of a run have similar sizes; runs in a keyed order
//
// A window is a range of epoch positions. group_by_size() splits it by height and width into groups of `run` samples;
// every sample occurs exactly once. The content of a window depends only on (seed, epoch), so any ranks can resume at
// any position. Resuming costs the arrangement of one window (about 10 ms for 8192 samples).
//
// Threads:  any. The last kCachedWindows windows are cached for all threads; the mutex is taken once per window.
// Memory:   12 bytes per sample of a cached window.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "unstarve/pipeline/order/permutation.h"

namespace unstarve {

class SampleSet;
struct Size;

// A permutation of 0 .. sizes.size() - 1 in runs of `run` (the last may be shorter) with similar sizes. The indices are
// split in two recursively, at a multiple of `run`, by height or by width, whichever needs less padding. Indices ascend
// within a run. Preconditions: run >= 1, fewer than 2^32 sizes. Cost: n log^2 n.
[[nodiscard]] std::vector<std::uint32_t> group_by_size(std::span<const Size> sizes, std::uint64_t run);

class Buckets {
 public:
  using Positions = std::shared_ptr<const std::vector<std::uint32_t>>;
  // The window of the last call of at().
  struct Window {
    std::uint64_t begin = 1, end = 0;
    Positions positions;  // relative to `begin`
  };
  // The epoch order before buckets.
  struct Epoch {
    const PermutationKeys& keys;
    std::uint32_t number;
    std::uint64_t samples;
    std::function<std::uint64_t(std::uint64_t)> id_at;  // position -> sample id
  };
  // Preconditions: window >= 1, run >= 1. `shuffle`: random order of runs.
  Buckets(std::uint64_t window, std::uint64_t run, bool shuffle, std::shared_ptr<const SampleSet> samples);

  // The position in `epoch` of the sample that buckets move to `position`. `window` belongs to the caller; use one per
  // epoch.
  [[nodiscard]] std::uint64_t at(const Epoch& epoch, std::uint64_t position, Window& window) const;

 private:
  static constexpr std::size_t kCachedWindows = 4;

  [[nodiscard]] std::vector<std::uint32_t> arrange(const Epoch& epoch, std::uint64_t begin, std::uint64_t end) const;

  const std::uint64_t window_, run_;
  const bool shuffle_;
  const std::shared_ptr<const SampleSet> samples_;
  mutable std::mutex mutex_;
  mutable std::deque<std::pair<std::pair<std::uint32_t, std::uint64_t>, Positions>> cached_;  // by epoch and begin
};

}  // namespace unstarve
