#pragma once
// Assigns each position of a run to one of several groups of samples (sources or classes), by weights.
//
// Positions are counted over the whole run, across epochs. Every block of block() positions contains exactly quota(g)
// positions of group g (largest-remainder rounding) in a keyed order. The index of a sample within its group follows
// from arithmetic: the blocks before it and its slot in this block. Within a block, the count of a group differs from
// its weight by less than one sample; deviation() returns the largest difference as a share of a block.
//
// Threads: immutable. Failure: Error(kArgument) for weights that are negative, not finite or all 0, and for a weight
//          below a millionth of the sum. Cost: one permutation and a binary search over the groups per position.

#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/pipeline/order/permutation.h"

namespace unstarve {

class Mixture {
 public:
  explicit Mixture(std::span<const double> weights);

  // Sample `count` (from 0) of the stream of `group`.
  struct Draw {
    std::size_t group = 0;
    std::uint64_t count = 0;
  };
  // `tweak` selects the order within the blocks, see PermutationKeys.
  [[nodiscard]] Draw at(const PermutationKeys& keys, std::uint64_t position, std::uint64_t tweak) const;

  [[nodiscard]] std::uint64_t block() const { return begin_.back(); }
  [[nodiscard]] std::uint64_t quota(std::size_t group) const { return begin_[group + 1] - begin_[group]; }
  [[nodiscard]] std::size_t groups() const { return begin_.size() - 1; }
  // The largest |share of a block - share of the weights| of any group.
  [[nodiscard]] double deviation() const { return deviation_; }

 private:
  std::vector<std::uint64_t> begin_{0};  // first slot of each group in an unpermuted block; the last element is block()
  double deviation_ = 0;
};

// A part of a run with constant weights. A run has one stretch plus one per change of weights.
struct MixtureStretch {
  std::uint64_t from = 0;            // position in the run
  std::vector<std::uint64_t> given;  // samples drawn from each group before `from`
  std::vector<double> weights;
  friend bool operator==(const MixtureStretch&, const MixtureStretch&) = default;
};

// The stretches of a run at `position` in stretch `running` that continues with `weights`. New weights apply from the
// next block on, so the stream of every group continues without a gap. `running` is omitted if no block of it was used.
// Throws Error(kArgument) if the number of groups differs.
[[nodiscard]] std::vector<MixtureStretch> continue_mixture(const MixtureStretch& running,
                                                           const std::vector<double>& weights, std::uint64_t position);

}  // namespace unstarve
