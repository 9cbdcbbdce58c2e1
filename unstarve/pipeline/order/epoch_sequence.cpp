#include "unstarve/pipeline/order/epoch_sequence.h"

#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/pipeline/order/draws.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

EpochSequence::EpochSequence(const OrderSpec& order, const BatchSpec& batch, const OrderBasis& basis,
                             std::uint64_t global_size)
    : seed_(order.seed), shuffle_(order.shuffle) {
  if (basis.samples->size() == 0) throw input_error("the dataset has no samples");
  auto draws = std::make_shared<const Draws>(order, basis.samples, basis.stretches);
  samples_ = draws->length();
  if (!draws->plain()) draws_ = std::move(draws);
  if (batch.bucket.window > 0 && !basis.samples->sizes.empty()) {
    const std::uint64_t run = batch.bucket.run > 0 ? batch.bucket.run : global_size;
    buckets_ = std::make_shared<const Buckets>(batch.bucket.window, run, shuffle_, basis.samples);
  }
}

EpochSequence::Epoch::Epoch(const EpochSequence& sequence, std::uint32_t epoch)
    : sequence_(&sequence),
      draws_(sequence.draws_.get()),
      epoch_(epoch),
      permutation_(sequence.samples_, sequence.seed_, epoch) {}

Sample EpochSequence::Epoch::at(std::uint64_t position) const {
  if (sequence_->buckets_) [[unlikely]]
    position = sequence_->buckets_->at(
        {permutation_.keys(), epoch_, sequence_->samples_, [this](std::uint64_t plain) { return drawn(plain).id; }},
        position, window_);
  return drawn(position);
}

Sample EpochSequence::Epoch::drawn(std::uint64_t position) const {
  if (draws_ != nullptr) [[unlikely]]
    return draws_->at(permutation_.keys(), epoch_, position);
  return {sequence_->shuffle_ ? permutation_(position) : position, epoch_};
}

}  // namespace unstarve
