#pragma once
// The order of an epoch: from (seed, epoch, batch, index, rank) to a sample, by arithmetic alone: a keyed permutation
// shuffles (order.shuffle, on by default). A Sample is an id and `draw`, the key of its random numbers: in a plain
// epoch, the number of the epoch.
//
// The sequence of an epoch (epoch_sequence.h) has no list of samples, so any number of ranks can reach any position in
// O(1), and the state of a run is a few integers.
//
//   (batch, index) ──RankBatches──▶ position among unused samples ──UsedSamples──▶ position in the epoch
//                  ──EpochSequence──▶ sample
//
// Ranks:   a global batch has world x batch samples; rank r takes the r-th part of it. All ranks get the same number of
//          batches, and batches of the same size. If the last global batch is kept (batch.last) and not divisible by
//          the world, it is filled with the first samples of the epoch, as in torch's DistributedSampler;
//          real_samples() excludes those. A padded last batch has the samples of a kept one, plus copies that the
//          loader makes.
// Buckets: group samples of similar sizes within windows of the order (buckets.h).
// Shares:  early epochs may end after a share of their samples (OrderBasis::shares), which is a random part of them if
//          the epoch is shuffled. This class describes whole epochs; of_epoch() returns the order of one.
// Resume:  the remaining samples of an epoch can be distributed to other ranks in batches of another size; remaining()
//          returns their order. Relaxed order leaves gaps; used samples after a gap are skipped.
// Threads: pure after construction. Cost: about 20-40 ns per sample of a plain epoch.

#include <cstdint>
#include <memory>
#include <vector>

#include "unstarve/pipeline/order/epoch_sequence.h"
#include "unstarve/pipeline/order/epoch_shares.h"
#include "unstarve/pipeline/order/rank_batches.h"
#include "unstarve/pipeline/order/used_samples.h"

namespace unstarve {

class Order {
 public:
  // Throws Error(kArgument) for an invalid batch, world or rank, or if an epoch has no batch; Error(kInput) if there
  // are no samples; and as Draws.
  Order(const OrderSpec& spec, const BatchSpec& batch, const OrderBasis& basis);
  // The order of all of `records` records.
  Order(const OrderSpec& spec, const BatchSpec& batch, std::uint64_t records);

  // The order of the samples of an epoch after its first `offset`, without the `used` ones (bit i is sample
  // offset + i). May have no batch.
  [[nodiscard]] Order remaining(std::uint64_t offset, const std::vector<bool>& used = {}) const;

  // The order of epoch `epoch`, which may have only a part of the samples.
  [[nodiscard]] Order of_epoch(std::uint32_t epoch) const;
  [[nodiscard]] const std::vector<EpochShare>& shares() const { return shares_.list(); }

  // Samples per epoch of all ranks, including those of a dropped last batch.
  [[nodiscard]] std::uint64_t length() const { return end_; }
  [[nodiscard]] std::uint64_t batches_per_epoch() const { return batches_.count(); }
  // Samples of this rank in batch `batch`: the batch size, or fewer in a kept last batch.
  [[nodiscard]] std::uint64_t batch_samples(std::uint64_t batch) const { return batches_.samples_of(batch); }
  // The number of its first samples that are not fillers of the last global batch.
  [[nodiscard]] std::uint64_t real_samples(std::uint64_t batch) const;

  [[nodiscard]] std::uint64_t world() const { return batches_.world(); }
  // Samples of this rank per epoch, and before batch `batch`.
  [[nodiscard]] std::uint64_t samples_per_epoch() const { return batches_.samples(); }
  [[nodiscard]] std::uint64_t rank_samples_before(std::uint64_t batch) const { return batches_.samples_before(batch); }

  // The number of samples of all ranks in the epoch before the first sample of this rank's batch.
  [[nodiscard]] std::uint64_t batch_position(std::uint64_t batch) const {
    return used_.count() + batches_.position_of(batch);
  }
  // The position in the epoch of this rank's sample `sample`, as in remaining() and EpochPosition; length() or more for
  // a filler of the last batch. Precondition: sample < samples_per_epoch().
  [[nodiscard]] std::uint64_t position_of(std::uint64_t sample) const {
    const std::uint64_t size = batches_.batch_size();
    return used_.position_of(batch_position(sample / size) + sample % size);
  }

  // The samples of one epoch. Borrows the order. One thread: caches the last window of buckets.
  class Epoch {
   public:
    Epoch(const Order& order, std::uint32_t epoch) : order_(&order), samples_(order.sequence_, epoch) {}
    [[nodiscard]] Sample sample(std::uint64_t batch, std::uint64_t index) const;
    [[nodiscard]] std::uint64_t id(std::uint64_t batch, std::uint64_t index) const { return sample(batch, index).id; }
    // Sample `index` of this rank in the epoch. Precondition: index < samples_per_epoch().
    [[nodiscard]] Sample sample_at(std::uint64_t index) const {
      const std::uint64_t size = order_->batches_.batch_size();
      return sample(index / size, index % size);
    }
    [[nodiscard]] std::uint64_t id_at(std::uint64_t index) const { return sample_at(index).id; }

   private:
    const Order* order_;
    EpochSequence::Epoch samples_;
  };
  [[nodiscard]] Epoch epoch(std::uint32_t number) const { return Epoch(*this, number); }

 private:
  void divide();  // after `end_` or `used_` has changed

  RankBatches batches_;
  EpochSequence sequence_;
  EpochShares shares_;
  UsedSamples used_;
  std::uint64_t end_ = 0;  // samples of the epoch that this order has
};

}  // namespace unstarve
