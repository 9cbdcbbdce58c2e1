#include "unstarve/pipeline/delivery/exact_delivery.h"

#include <algorithm>

#include "unstarve/pipeline/read_ahead/read_ahead.h"

namespace unstarve {

std::optional<Claim> ExactDelivery::claim(std::size_t most) {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [&] { return closed_ || filling_ != nullptr || may_open() || exhausted(); });
  if (closed_) return {};
  if (filling_ == nullptr) {
    if (!may_open()) return {};  // exhausted
    filling_ = &open();
    next_index_ = 0;
    work_.notify_all();  // other workers may wait for samples of this batch
  }
  const RunBatch& batch = filling_->batch;
  const Claim claim{.epoch = batch.epoch,
                    .batch = batch.index,
                    .index = next_index_,
                    .count = std::min(most, batch.samples - next_index_),
                    .read_ahead = read_ahead_,
                    .slot = filling_,
                    .slot_index = next_index_};
  next_index_ += claim.count;
  if (next_index_ == batch.samples) filling_ = nullptr;
  return claim;
}

std::optional<std::uint64_t> ExactDelivery::first_unclaimed() const {
  if (filling_ != nullptr) return order_.number(filling_->batch.epoch, filling_->batch.index, next_index_);
  if (exhausted()) return {};
  return order_.number(next_.epoch, next_.batch, 0);
}

bool ExactDelivery::begin_read_ahead(ReadAhead& reading) {
  const std::lock_guard lock(mutex_);
  const std::optional<std::uint64_t> first = first_unclaimed();
  if (closed_ || read_ahead_ || !first || !reading.resume(*first)) return false;
  return read_ahead_ = true;
}

bool ExactDelivery::end_read_ahead(ReadAhead& reading) {
  const std::lock_guard lock(mutex_);
  const std::optional<std::uint64_t> first = first_unclaimed();
  if (closed_ || !read_ahead_ || !first) return false;
  reading.pause(*first);
  read_ahead_ = false;
  return true;
}

void ExactDelivery::describe_progress(RankProgress& progress) const {
  progress.samples = order_.of_epoch(delivered_.epoch).rank_samples_before(delivered_.batch);
}

}  // namespace unstarve
