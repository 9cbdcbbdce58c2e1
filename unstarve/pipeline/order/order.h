#pragma once
// The order of an epoch: from (seed, epoch, batch, index, rank) to a sample, by arithmetic alone.
//
// The usual epoch is a keyed permutation (permutation.h) of all records; draws.h has all others. No list of the epoch
// exists, so any position can be reached in O(1) by any number of ranks, and the state of a run is a few integers.
//
// Ranks: the global batch is world x batch samples; rank r takes its r-th stretch of it. Every rank gets equally many
// batches and equally many samples in each; when the last global batch is kept (batch.last) and does not divide
// by the world, it is filled up with the first samples of the same epoch's order, as torch's DistributedSampler does;
// real_samples() tells how many are not of that kind. A padded last batch has the same samples as a kept one: what
// fills it up are copies that the loader makes.
//
// Buckets: where samples of similar sizes meet, the order within each window of it is another (buckets.h).
//
// Another layout: what is left of an epoch after so many of its samples can be dealt out anew, to other ranks in other
// batches; rest() is the order of that part. Relaxed order leaves holes: what lies behind them and was used is left
// out.
//
// Threads: pure after construction. Cost: about 20-40 ns per sample of a usual epoch.

#include <cstdint>
#include <memory>
#include <vector>

#include "unstarve/pipeline/order/buckets.h"
#include "unstarve/pipeline/order/draws.h"
#include "unstarve/pipeline/order/permutation.h"
#include "unstarve/pipeline/spec/spec.h"

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

// What decides an order besides the spec.
struct OrderBasis {
  std::shared_ptr<const SampleSet> samples;  // null: as the spec chooses them
  std::vector<MixtureStretch> stretches;     // of a resumed mixture; none: its weights from the beginning on
};

class Order {
 public:
  // Throws Error(kArgument) when batch, world or rank make no sense, or when not even one batch results; and as Draws.
  // Error(kInput) when there are no samples.
  Order(const OrderSpec& spec, const BatchSpec& batch, const OrderBasis& basis);
  // Over all of so many records.
  Order(const OrderSpec& spec, const BatchSpec& batch, std::uint64_t records)
      : Order(spec, batch, OrderBasis{std::make_shared<SampleSet>(records), {}}) {}

  // The order of what is left of every epoch behind its first `offset` samples, without the `used` ones among them (bit
  // i is sample offset + i); its epochs may have no batch.
  [[nodiscard]] Order rest(std::uint64_t offset, const std::vector<bool>& used = {}) const;

  // Samples of a whole epoch, of all ranks, those of a dropped last batch included.
  [[nodiscard]] std::uint64_t length() const { return samples_; }
  [[nodiscard]] std::uint64_t batches_per_epoch() const { return batches_; }
  // Samples of this rank in batch `batch` of an epoch: the batch size, or fewer in a kept last one.
  [[nodiscard]] std::uint64_t batch_samples(std::uint64_t batch) const;
  // Those of them, the first ones, that do not merely fill up the last batch of all ranks.
  [[nodiscard]] std::uint64_t real_samples(std::uint64_t batch) const;

  [[nodiscard]] std::uint64_t world() const { return world_; }
  // Of this rank, in an epoch and in its batches before `batch`.
  [[nodiscard]] std::uint64_t samples_per_epoch() const {
    return batches_ == 0 ? 0 : samples_before(batches_ - 1) + last_samples_;
  }
  [[nodiscard]] std::uint64_t samples_before(std::uint64_t batch) const { return batch * batch_; }

  // Of the first sample of this rank's batch: how many samples of all ranks come before it in the epoch.
  [[nodiscard]] std::uint64_t place(std::uint64_t batch) const;
  // Where in the epoch's order, the bits of rest() and Position, this rank's sample number `sample` stands; from
  // length() on for one that fills up the last batch. Precondition: sample < samples_per_epoch().
  [[nodiscard]] std::uint64_t place_of(std::uint64_t sample) const {
    return behind_holes(place(sample / batch_) + sample % batch_);
  }

  // The samples of one epoch. Borrows the order. For one thread: it keeps the window of buckets that it was asked for.
  class Epoch {
   public:
    Epoch(const Order& order, std::uint32_t epoch);
    [[nodiscard]] Sample sample(std::uint64_t batch, std::uint64_t index) const;
    [[nodiscard]] std::uint64_t id(std::uint64_t batch, std::uint64_t index) const { return sample(batch, index).id; }
    // Of the rank's sample `place` of the epoch. Precondition: place < samples_per_epoch().
    [[nodiscard]] Sample sample_at(std::uint64_t place) const {
      return sample(place / order_->batch_, place % order_->batch_);
    }
    [[nodiscard]] std::uint64_t id_at(std::uint64_t place) const { return sample_at(place).id; }

   private:
    // At a position of the epoch before buckets.
    [[nodiscard]] Sample drawn(std::uint64_t position) const;

    const Order* order_;
    const Draws* draws_;  // null: all records once
    std::uint32_t epoch_;
    Permutation permutation_;
    mutable Buckets::Window window_;
  };
  [[nodiscard]] Epoch epoch(std::uint32_t number) const { return Epoch(*this, number); }

 private:
  void count();
  [[nodiscard]] std::uint64_t behind_holes(std::uint64_t place) const {
    return unused_ && place - offset_ - used_ < unused_->size() ? (*unused_)[place - offset_ - used_] : place;
  }

  std::shared_ptr<const Draws> draws_;
  std::uint64_t seed_;
  bool shuffle_;
  std::uint64_t rank_ = 0, world_ = 1;
  std::uint64_t batch_;
  bool drop_last_;
  std::shared_ptr<const Buckets> buckets_;  // null: none
  std::uint64_t samples_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t used_ = 0;                                    // behind offset_
  std::shared_ptr<const std::vector<std::uint64_t>> unused_;  // places among them that are left; null: used_ is 0
  std::uint64_t batches_ = 0;
  std::uint64_t last_samples_ = 0;  // per rank, in the last batch
};

}  // namespace unstarve
