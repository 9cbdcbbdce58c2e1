#pragma once
// The sequence of samples of an epoch that is not simply all records once: selected records, several passes, windows,
// or groups drawn by weights.
//
// Every group is an endless stream of passes over its samples, each pass in a different order. With several groups, the
// mixture (mixture.h) assigns each position of the run to a group, whose stream continues across epochs. With a single
// group, stream and run are the same. An epoch is a range of length() positions of the run, so an epoch with `repeat` n
// equals n consecutive epochs without it.
//
// With weights of samples, each pass draws from the samples by their shares (shares.h), in permuted order.
//
// `draw` of a sample is the number of its pass. (id, draw) is unique in a run, so a sample that occurs several times in
// an epoch is augmented differently each time. For a plain epoch `draw` equals the epoch.
//
// Threads: immutable. Failure: Error(kArgument) for weights as in mixture.h, and for lengths beyond 2^62.
// Cost: 50-300 ns per sample, independent of the sizes.

#include <cstdint>
#include <memory>
#include <vector>

#include "unstarve/pipeline/order/mixture.h"
#include "unstarve/pipeline/order/permutation.h"
#include "unstarve/pipeline/order/position.h"
#include "unstarve/pipeline/order/sample_set.h"

namespace unstarve {

struct OrderSpec;

class Draws {
 public:
  // `stretches`: history of the weights, in order; empty if the weights of `set` apply from the beginning of the run.
  Draws(const OrderSpec& spec, std::shared_ptr<const SampleSet> set, std::vector<MixtureStretch> stretches);

  // Samples per epoch, of all ranks.
  [[nodiscard]] std::uint64_t length() const { return length_; }
  // Whether an epoch is all records once, in a permutation or in storage order; then at() is not needed.
  [[nodiscard]] bool plain() const { return plain_; }
  // `epoch_keys`: of (seed, epoch). Precondition: position < length().
  [[nodiscard]] Sample at(const PermutationKeys& epoch_keys, std::uint32_t epoch, std::uint64_t position) const;

 private:
  struct Stretch {
    std::uint64_t from;
    std::vector<std::uint64_t> given;
    Mixture mixture;
  };
  // Returns the group of sample `number` of the run, and replaces `number` by the index in the group's stream.
  [[nodiscard]] std::size_t assign(std::uint64_t& number) const;
  [[nodiscard]] Sample by_share(const PermutationKeys& epoch_keys, std::uint32_t epoch, std::uint64_t number) const;

  bool shuffle_;
  std::uint64_t seed_, window_;
  std::shared_ptr<const SampleSet> set_;
  PermutationKeys mixture_keys_;  // permute the mixture's blocks
  std::vector<Stretch> stretches_;
  std::uint64_t length_ = 0;
  std::uint64_t pass_ = 0;         // samples of a pass, with shares
  std::uint64_t occurrences_ = 0;  // upper bound of those of a sample in a pass, with shares
  bool plain_ = false;
};

}  // namespace unstarve
