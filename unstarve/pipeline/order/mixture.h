#pragma once
// Which of several groups of samples (sources, classes) each position of a run is given to, by weights.
//
// Positions are counted over the whole run, epoch after epoch. Blocks of block() of them hold exactly quota(g) of group
// g, by largest remainders, in a keyed order of their own; so the n-th sample that a group gives is known by
// arithmetic: position / block blocks before, and its place in this one. Within a block a group differs from its weight
// by less than one sample; deviation() tells by how much of a block.
//
// Threads: immutable. Failure: Error(kArgument) for weights that are negative, infinite, no numbers or all 0, and for
//          one below a millionth of the whole. Cost: one permutation and a search among the groups per position.

#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/pipeline/order/permutation.h"

namespace unstarve {

class Mixture {
 public:
  explicit Mixture(std::span<const double> weights);

  // The `count`-th sample (from 0) that `group` gives.
  struct Draw {
    std::size_t group = 0;
    std::uint64_t count = 0;
  };
  // `tweak` names the order within the blocks, as of permutations.
  [[nodiscard]] Draw at(const PermutationKeys& keys, std::uint64_t position, std::uint64_t tweak) const;

  [[nodiscard]] std::uint64_t block() const { return begin_.back(); }
  [[nodiscard]] std::uint64_t quota(std::size_t group) const { return begin_[group + 1] - begin_[group]; }
  [[nodiscard]] std::size_t groups() const { return begin_.size() - 1; }
  // The greatest |share of a block - share of the weights| of a group.
  [[nodiscard]] double deviation() const { return deviation_; }

 private:
  std::vector<std::uint64_t> begin_{0};  // first place of each group in a block before its permutation; block() last
  double deviation_ = 0;
};

// A part of a run with the same weights. A run has one that begins with it; another for each change of weights.
struct MixtureStretch {
  std::uint64_t from = 0;            // position in the run
  std::vector<std::uint64_t> given;  // samples that each group gave before
  std::vector<double> weights;
  friend bool operator==(const MixtureStretch&, const MixtureStretch&) = default;
};

// The stretches of a run that has come to `position` and whose last stretch is `running`, when it goes on with
// `weights`: from the next block on, so that every group goes on where it was. A stretch that was not reached is not
// kept. Throws Error(kArgument) when the groups are not equally many.
[[nodiscard]] std::vector<MixtureStretch> continue_mixture(const MixtureStretch& running,
                                                           const std::vector<double>& weights, std::uint64_t position);

}  // namespace unstarve
