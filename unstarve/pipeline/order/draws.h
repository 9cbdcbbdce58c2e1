#pragma once
// The epoch's sequence of samples where it is not simply all records once: a set of some records, several passes, a
// window, groups drawn by weights.
//
// Every group is an endless stream: pass after pass over its samples, each pass an order of its own. Where groups are
// mixed (mixture.h), positions of the whole run are dealt to the groups, and each goes on with its stream from one
// epoch into the next; a lone group gives the run's positions themselves. So an epoch is a stretch of length()
// positions, and an epoch of `repeat` n is n epochs without it, one after the other.
//
// A sample's `draw` is the number of its pass. (id, draw) comes once in a run, so that a sample that comes more than
// once in an epoch is augmented anew each time; without all this it is the epoch.
//
// Threads: immutable. Failure: Error(kArgument) for weights as in mixture.h, and for lengths beyond 2^62.
// Cost: 50-300 ns per sample, whatever the sizes.

#include <cstdint>
#include <memory>
#include <vector>

#include "unstarve/pipeline/order/mixture.h"
#include "unstarve/pipeline/order/permutation.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

struct Sample {
  std::uint64_t id = 0;
  std::uint32_t draw = 0;  // keys its random streams
  friend bool operator==(const Sample&, const Sample&) = default;
};

class Draws {
 public:
  // `stretches`: of the weights, in order; none where they are those of `set` from the run's beginning on.
  Draws(const OrderSpec& spec, std::shared_ptr<const SampleSet> set, std::vector<MixtureStretch> stretches);

  // Samples of an epoch, of all ranks.
  [[nodiscard]] std::uint64_t length() const { return length_; }
  // Whether an epoch is all records once, in a permutation of its own or as stored: then at() need not be asked.
  [[nodiscard]] bool plain() const { return plain_; }
  // `of_epoch`: the keys of (seed, epoch). Precondition: position < length().
  [[nodiscard]] Sample at(const PermutationKeys& of_epoch, std::uint32_t epoch, std::uint64_t position) const;

 private:
  struct Stretch {
    std::uint64_t from;
    std::vector<std::uint64_t> given;
    Mixture mixture;
  };
  // Turns the number of a sample in the run into its group's and its number in that one's stream.
  [[nodiscard]] std::size_t deal(std::uint64_t& number) const;

  bool shuffle_;
  std::uint64_t seed_, window_;
  std::shared_ptr<const SampleSet> set_;
  PermutationKeys dealing_;  // of the mixture's blocks
  std::vector<Stretch> stretches_;
  std::uint64_t length_ = 0;
  bool plain_ = false;
};

}  // namespace unstarve
