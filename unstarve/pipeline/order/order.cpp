#include "unstarve/pipeline/order/order.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

Order::Order(const OrderSpec& spec, const BatchSpec& batch, const OrderBasis& basis)
    : seed_(spec.seed),
      shuffle_(spec.shuffle),
      batch_size_(static_cast<std::uint64_t>(batch.size)),
      drop_last_(batch.last == LastBatch::kDrop),
      shares_(basis.shares) {
  if (batch.size < 1)
    throw Error(ErrorKind::kArgument, "batch size " + std::to_string(batch.size) + ": expected 1 or more");
  if (spec.world < 1 || spec.rank < 0 || spec.rank >= spec.world)
    throw Error(ErrorKind::kArgument, "rank " + std::to_string(spec.rank) + " of world " + std::to_string(spec.world) +
                                          ": expected 0 <= rank < world");
  rank_ = static_cast<std::uint64_t>(spec.rank);
  world_ = static_cast<std::uint64_t>(spec.world);
  if (basis.samples->size() == 0) throw Error(ErrorKind::kInput, "the dataset has no samples");
  auto draws = std::make_shared<const Draws>(spec, basis.samples, basis.stretches);
  samples_ = end_ = draws->length();
  if (!draws->plain()) draws_ = std::move(draws);
  if (batch.bucket.window > 0 && !basis.samples->sizes.empty()) {
    const std::uint64_t run = batch.bucket.run > 0 ? batch.bucket.run : batch_size_ * world_;
    buckets_ = std::make_shared<const Buckets>(batch.bucket.window, run, shuffle_, basis.samples);
  }
  count_batches();
  if (batches_ == 0) {
    const std::uint64_t limit = samples_ / world_;
    const std::string smaller =
        limit > 0 ? "set batch.size (--batch) to at most " + std::to_string(limit) : std::string("use fewer ranks");
    throw Error(ErrorKind::kArgument, "no full batch: " + std::to_string(samples_) + " samples, batch " +
                                          std::to_string(batch_size_) + " on " + std::to_string(world_) + " rank(s); " +
                                          smaller + ", or keep the short last batch (batch.last: keep)");
  }
}

Order Order::of_epoch(std::uint32_t epoch) const {
  const auto after = std::upper_bound(shares_.begin(), shares_.end(), epoch,
                                      [](std::uint32_t e, const EpochShare& share) { return e < share.epoch; });
  Order order = *this;
  if (after == shares_.begin() || std::prev(after)->share >= 1) return order;
  const std::uint64_t global = batch_size_ * world_, batches = samples_ / global;
  // 0.29 of 100 batches is slightly less than 29.
  const auto full = static_cast<std::uint64_t>(std::prev(after)->share * static_cast<double>(batches) + 1e-9);
  order.end_ = std::min(samples_, std::max<std::uint64_t>(1, full) * global);
  order.count_batches();
  return order;
}

Order Order::remaining(std::uint64_t offset, const std::vector<bool>& used) const {
  Order order = *this;
  order.used_.offset = std::min(offset, end_);
  auto unused = std::make_shared<std::vector<std::uint64_t>>();
  for (std::size_t i = 0; i < used.size() && order.used_.offset + i < end_; ++i) {
    if (used[i])
      ++order.used_.later;
    else
      unused->push_back(order.used_.offset + i);
  }
  if (order.used_.later > 0) order.used_.unused = std::move(unused);
  order.count_batches();
  return order;
}

void Order::count_batches() {
  const std::uint64_t global = batch_size_ * world_, left = end_ - used_.offset - used_.later, over = left % global;
  batches_ = left / global;
  last_samples_ = batch_size_;
  if (!drop_last_ && over > 0) {
    ++batches_;
    last_samples_ = (over + world_ - 1) / world_;
  }
}

// Of this rank; the last batch may be smaller than the others.
std::uint64_t Order::batch_samples(std::uint64_t batch) const {
  return batch + 1 == batches_ ? last_samples_ : batch_size_;
}

std::uint64_t Order::real_samples(std::uint64_t batch) const {
  const std::uint64_t first = batch_position(batch), count = batch_samples(batch);
  return first >= end_ ? 0 : std::min(count, end_ - first);
}

std::uint64_t Order::batch_position(std::uint64_t batch) const {
  return used_.offset + used_.later + batch * batch_size_ * world_ + rank_ * batch_samples(batch);
}

Order::Epoch::Epoch(const Order& order, std::uint32_t epoch)
    : order_(&order), draws_(order.draws_.get()), epoch_(epoch), permutation_(order.samples_, order.seed_, epoch) {}

// Batch and index determine the position in the epoch, across all ranks; buckets move it; the permutation or the draws
// compute a sample of it. Positions beyond the end of the epoch are its first samples, so that the last batches of all
// ranks have equal sizes (batch.last: keep, pad).
Sample Order::Epoch::sample(std::uint64_t batch, std::uint64_t index) const {
  std::uint64_t position = order_->skip_used(order_->batch_position(batch) + index) % order_->end_;
  if (order_->buckets_) [[unlikely]]
    position = order_->buckets_->at(
        {permutation_.keys(), epoch_, order_->samples_, [this](std::uint64_t plain) { return drawn(plain).id; }},
        position, window_);
  return drawn(position);
}

Sample Order::Epoch::drawn(std::uint64_t position) const {
  if (draws_ != nullptr) [[unlikely]]
    return draws_->at(permutation_.keys(), epoch_, position);
  return {order_->shuffle_ ? permutation_(position) : position, epoch_};
}

}  // namespace unstarve
