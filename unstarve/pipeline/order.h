#pragma once
// The order of an epoch: from (seed, epoch, batch, index, rank) to a sample id, by arithmetic alone.
//
// A keyed permutation of 0 .. size - 1: a Feistel network over the next power of two, walked until it lands inside
// (Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). No list of indices exists, so any position
// can be reached in O(1) by any number of ranks, and the state of a run is a few integers.
//
// Ranks: the global batch is world x batch samples; rank r takes its r-th stretch of it. Every rank gets equally many
// batches and equally many samples in each; when the last global batch is kept (drop_last false) and does not divide
// by the world, it is filled up with the first samples of the same epoch's order, as torch's DistributedSampler does.
//
// Another layout: what is left of an epoch after so many of its samples can be dealt out anew, to other ranks in other
// batches; rest() is the order of that part. Relaxed order leaves holes: what lies behind them and was used is left out.
//
// Threads: pure after construction. Cost: about 20-40 ns per id.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "unstarve/pipeline/spec.h"

namespace unstarve {

// Where in the endless sequence of epochs a run starts.
struct Position {
  std::uint32_t epoch = 0;
  std::uint64_t batch = 0;  // of the epoch's part behind `offset`
  // Samples of the epoch, of all ranks, that were used before, maybe by other ranks in other batches.
  std::uint64_t offset = 0;
  // Of the samples behind those, which were used before too: bit i is the epoch's sample offset + i. Relaxed order.
  std::vector<bool> used{};
  friend bool operator==(const Position&, const Position&) = default;
};

class Permutation {
 public:
  // Of 0 .. size - 1; size >= 1. Other keys, other permutations.
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint32_t epoch);
  // Precondition: position < size.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t position) const;

 private:
  static constexpr int kRounds = 8;
  [[nodiscard]] std::uint64_t encrypt(std::uint64_t value) const;
  std::uint64_t size_;
  int low_bits_ = 1, high_bits_ = 1;
  std::array<std::uint64_t, kRounds> keys_{};
};

class Order {
 public:
  // Throws Error(kArgument) when batch, world or rank make no sense, or when not even one batch results.
  Order(const OrderSpec& spec, const BatchSpec& batch, std::uint64_t samples);

  // The order of what is left of every epoch behind its first `offset` samples, without the `used` ones among them (bit
  // i is sample offset + i); its epochs may have no batch.
  [[nodiscard]] Order rest(std::uint64_t offset, const std::vector<bool>& used = {}) const;

  [[nodiscard]] std::uint64_t batches_per_epoch() const { return batches_; }
  // Samples of this rank in batch `batch` of an epoch: the batch size, or fewer in a kept last one.
  [[nodiscard]] std::uint64_t batch_samples(std::uint64_t batch) const;

  [[nodiscard]] std::uint64_t world() const { return static_cast<std::uint64_t>(spec_.world); }
  // Of this rank, in an epoch and in its batches before `batch`.
  [[nodiscard]] std::uint64_t samples_per_epoch() const {
    return batches_ == 0 ? 0 : samples_before(batches_ - 1) + last_samples_;
  }
  [[nodiscard]] std::uint64_t samples_before(std::uint64_t batch) const { return batch * batch_; }

  // Of the first sample of this rank's batch: how many samples of all ranks come before it in the epoch.
  [[nodiscard]] std::uint64_t place(std::uint64_t batch) const;
  // Where in the epoch's order, the bits of rest() and Position, this rank's sample number `sample` stands; from the
  // data set's size on for one that fills up the last batch. Precondition: sample < samples_per_epoch().
  [[nodiscard]] std::uint64_t place_of(std::uint64_t sample) const {
    return behind_holes(place(sample / batch_) + sample % batch_);
  }

  // The ids of one epoch.
  class Epoch {
   public:
    Epoch(const Order& order, std::uint32_t epoch);
    [[nodiscard]] std::uint64_t id(std::uint64_t batch, std::uint64_t index) const;
    // Of the rank's sample `place` of the epoch. Precondition: place < samples_per_epoch().
    [[nodiscard]] std::uint64_t id_at(std::uint64_t place) const;

   private:
    const Order* order_;
    Permutation permutation_;
  };
  [[nodiscard]] Epoch epoch(std::uint32_t number) const { return Epoch(*this, number); }

 private:
  void count();
  [[nodiscard]] std::uint64_t behind_holes(std::uint64_t place) const {
    return unused_ && place - offset_ - used_ < unused_->size() ? (*unused_)[place - offset_ - used_] : place;
  }

  OrderSpec spec_;
  std::uint64_t batch_;
  bool drop_last_;
  std::uint64_t samples_;
  std::uint64_t offset_ = 0;
  std::uint64_t used_ = 0;                                    // behind offset_
  std::shared_ptr<const std::vector<std::uint64_t>> unused_;  // places among them that are left; null: used_ is 0
  std::uint64_t batches_ = 0;
  std::uint64_t last_samples_ = 0;  // per rank, in the last batch
};

}  // namespace unstarve
