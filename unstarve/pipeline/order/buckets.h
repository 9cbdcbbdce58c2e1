#pragma once
// Samples of similar sizes side by side in the order of an epoch, so that batches padded to their largest waste little.
//
//   order of the epoch:  | window 0 ............ | window 1 ............ | the rest |
//   in each window:      run, run, run, ...        the samples of a run are similar; runs in a keyed order
//
// A window is a stretch of the epoch's order; its samples are parted by height and width until `run` are left in each
// part (group_by_size()), so that every one of them comes once, whatever the sizes. Which window a position lies in and
// what is in it depend on (seed, epoch) alone: so a run resumes at any position by any ranks, at the cost of arranging
// one window anew: some ten milliseconds for one of 8192 samples.
//
// Threads:  any; the last few windows are kept for all threads, behind a mutex that is taken once per window.
// Memory:   12 bytes per sample of a window, of kKept windows.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "unstarve/pipeline/order/permutation.h"
#include "unstarve/pipeline/order/sample_set.h"

namespace unstarve {

// A permutation of 0 .. sizes.size() - 1 in runs of `run` (the last may be shorter) whose samples are similar: the
// numbers are halved, at a multiple of `run`, by height or by width, whichever leaves less to pad, and so on. Within a
// run they ascend. Precondition: run >= 1, fewer than 2^32 sizes. Cost: n log^2 n.
[[nodiscard]] std::vector<std::uint32_t> group_by_size(std::span<const Size> sizes, std::uint64_t run);

class Buckets {
 public:
  // What at() found last.
  struct Window {
    std::uint64_t begin = 1, end = 0;
    std::shared_ptr<const std::vector<std::uint32_t>> places;
  };
  // window, run: 1 or more. `shuffle`: whether runs come in a random order.
  Buckets(std::uint64_t window, std::uint64_t run, bool shuffle, std::shared_ptr<const SampleSet> samples);

  // The position, of an epoch of so many samples, whose sample comes at `position`. id_at(position): the id of the
  // sample there before buckets. `window` is the caller's, to be used for one epoch.
  [[nodiscard]] std::uint64_t at(const PermutationKeys& keys, std::uint32_t epoch, std::uint64_t position,
                                 std::uint64_t samples, Window& window,
                                 const std::function<std::uint64_t(std::uint64_t)>& id_at) const;

 private:
  static constexpr std::size_t kKept = 4;
  using Places = std::shared_ptr<const std::vector<std::uint32_t>>;

  [[nodiscard]] std::vector<std::uint32_t> arrange(const PermutationKeys& keys, std::uint64_t begin, std::uint64_t end,
                                                   const std::function<std::uint64_t(std::uint64_t)>& id_at) const;

  const std::uint64_t window_, run_;
  const bool shuffle_;
  const std::shared_ptr<const SampleSet> samples_;
  mutable std::mutex mutex_;
  mutable std::deque<std::pair<std::pair<std::uint32_t, std::uint64_t>, Places>> kept_;  // by epoch and begin
};

}  // namespace unstarve
