#pragma once
// The sequence of samples of each epoch, of all ranks: a keyed permutation of all records (permutation.h) or draws.h,
// rearranged by buckets.h. A position is mapped to a sample by arithmetic; there is no list.
//
// Ownership: shares the set of samples. Threads: pure after construction; an Epoch for one thread.
// Failure:   Error(kInput) if there are no samples, and as Draws.

#include <cstdint>
#include <memory>

#include "unstarve/pipeline/order/buckets.h"
#include "unstarve/pipeline/order/permutation.h"
#include "unstarve/pipeline/order/position.h"

namespace unstarve {

class Draws;
struct BatchSpec;
struct OrderSpec;

class EpochSequence {
 public:
  // `global_size`: samples of a batch of all ranks.
  EpochSequence(const OrderSpec& order, const BatchSpec& batch, const OrderBasis& basis, std::uint64_t global_size);

  [[nodiscard]] std::uint64_t length() const { return samples_; }

  // One epoch. Borrows the sequence; caches the last window of buckets.
  class Epoch {
   public:
    Epoch(const EpochSequence& sequence, std::uint32_t epoch);
    // Precondition: position < length().
    [[nodiscard]] Sample at(std::uint64_t position) const;

   private:
    // The sample at a position before buckets.
    [[nodiscard]] Sample drawn(std::uint64_t position) const;

    const EpochSequence* sequence_;
    const Draws* draws_;  // null: a plain epoch
    std::uint32_t epoch_;
    Permutation permutation_;
    mutable Buckets::Window window_;
  };

 private:
  std::shared_ptr<const Draws> draws_;  // null: all records once
  std::uint64_t seed_;
  bool shuffle_;
  std::shared_ptr<const Buckets> buckets_;  // null: none
  std::uint64_t samples_ = 0;
};

}  // namespace unstarve
