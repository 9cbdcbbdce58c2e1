#include "unstarve/pipeline/delivery/relaxed_delivery.h"

#include "unstarve/pipeline/read_ahead/read_ahead.h"

namespace unstarve {

RelaxedDelivery::RelaxedDelivery(const RunOrder& order, const SlotLayout& layout, const SlotLimits& limits,
                                 std::uint64_t window, Device& device)
    : Delivery(order, layout, limits, device), placed_(window), taken_(window) {}

// A resumed run starts with gaps, and an EpochPosition has a bit for each sample of the epoch after the first gap. So
// that the bits of this run do not exceed a window either, positions in the epoch are compared, not numbers.
bool RelaxedDelivery::within_window(std::uint64_t number) const {
  if (!placed_.holds(number)) return false;
  const EpochPosition& start = order_.start();
  if (start.used.empty()) return true;
  const RunOrder::EpochSample first = order_.epoch_sample(placed_.first()), sample = order_.epoch_sample(number);
  if (first.epoch != start.epoch || sample.epoch != start.epoch) return true;
  const Order& order = order_.of_epoch(start.epoch);
  return order.position_of(sample.sample) - order.position_of(first.sample) < placed_.size() * order.world();
}

void RelaxedDelivery::advance() {
  if (closed_) return;
  while (may_open()) open_samples_ += open().batch.samples;
  const std::uint64_t before = claimable_;
  while (claimable_ < open_samples_ && within_window(claimable_)) ++claimable_;
  if (claimable_ == before) return;
  work_.notify_all();
  if (reading_ != nullptr) reading_->allow(claimable_);
}

std::optional<Claim> RelaxedDelivery::claim(std::size_t) {
  std::unique_lock lock(mutex_);
  advance();
  work_.wait(lock, [&] { return closed_ || next_number_ < claimable_ || next_number_ == order_.samples(); });
  if (closed_ || next_number_ == order_.samples()) return {};
  const std::uint64_t number = next_number_++;
  lock.unlock();
  return claim_of(number);
}

void RelaxedDelivery::place(Claim& claim) {
  const bool filler = claim.index >= order_.of_epoch(claim.epoch).real_samples(claim.batch);
  const std::uint64_t number = order_.number(claim.epoch, claim.batch, claim.index);
  const std::lock_guard lock(mutex_);
  // A position exists: in every epoch, as many numbers are claimable as the open batches have positions.
  std::uint64_t sequence = filler ? open_.opened() - 1 : first_incomplete_;
  const auto is_full = [&](std::uint64_t at) { return open_.at(at).fill.placed() == open_.at(at).batch.real; };
  const auto batch_at = [&](std::uint64_t at) -> const RunBatch& { return open_.at(at).batch; };
  if (filler)
    while (batch_at(sequence).epoch != claim.epoch || batch_at(sequence).index != claim.batch) --sequence;
  else
    while (batch_at(sequence).epoch != claim.epoch || is_full(sequence)) ++sequence;
  claim.slot = &open_.at(sequence);
  claim.slot_index = filler ? claim.index : claim.slot->fill.place();
  claim.slot->arrays.numbers[claim.slot_index] = number;
  while (first_incomplete_ < open_.opened() && is_full(first_incomplete_)) ++first_incomplete_;
  placed_.settle(number);
  advance();
}

bool RelaxedDelivery::begin_read_ahead(ReadAhead& reading) {
  const std::lock_guard lock(mutex_);
  if (closed_ || reading_ != nullptr || !reading.resume(next_number_)) return false;
  reading_ = &reading;
  advance();
  reading.allow(claimable_);
  return true;
}

void RelaxedDelivery::note_taken(const Slot& slot) {
  for (std::size_t i = 0; i < slot.batch.samples; ++i) taken_.settle(slot.arrays.numbers[i]);
}

void RelaxedDelivery::describe_progress(RankProgress& progress) const {
  progress.samples = order_.epoch_sample(taken_.first()).sample;
  progress.used = taken_.ahead();
}

}  // namespace unstarve
