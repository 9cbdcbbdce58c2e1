// The part of SlotRing that relaxed order needs.
#include <utility>

#include "unstarve/pipeline/executor/slot_ring.h"

namespace unstarve {

// The bits of a resumed run's Position are places in the epoch's order, with the holes that it began with between those
// of this run: so that they never become more than a window, it is the places that must not lie further apart.
bool SlotRing::within_window(std::uint64_t number) const {
  if (!placed_.holds(number)) return false;
  const Position& start = order_.start();
  if (start.used.empty()) return true;
  const RunOrder::EpochSample first = order_.epoch_sample(placed_.first()), here = order_.epoch_sample(number);
  if (first.epoch != start.epoch || here.epoch != start.epoch) return true;
  const Order& order = order_.order(start.epoch);
  return order.position_of(here.sample) - order.position_of(first.sample) < options_.window * order.world();
}

void SlotRing::advance() {
  if (options_.window == 0 || closed_) return;
  while (may_open()) open();
  const std::uint64_t before = claimable_;
  while (claimable_ < open_numbers_ && within_window(claimable_)) ++claimable_;
  if (claimable_ == before) return;
  work_.notify_all();
  if (allow_) allow_(claimable_);
}

std::optional<std::uint64_t> SlotRing::claim_number() {
  std::unique_lock lock(mutex_);
  advance();
  work_.wait(lock, [&] { return closed_ || next_number_ < claimable_ || next_number_ == order_.samples(); });
  if (closed_ || next_number_ == order_.samples()) return {};
  return next_number_++;
}

void SlotRing::start(std::function<void(std::uint64_t)> allow) {
  std::lock_guard lock(mutex_);
  allow_ = std::move(allow);
  advance();
}

Claim SlotRing::place(std::uint64_t number) {
  const RunOrder::EpochSample in_run = order_.epoch_sample(number);
  const std::uint32_t epoch = in_run.epoch;
  const Order& order = order_.order(epoch);
  const std::uint64_t batch_size = options_.batch_samples, own_batch = in_run.sample / batch_size,
                      own_index = in_run.sample % batch_size;
  std::lock_guard lock(mutex_);
  const auto slot = [&](std::uint64_t sequence) -> Slot& { return *in_flight_[sequence % in_flight_.size()]; };
  // One that fills up the last batch of all ranks keeps its place there, behind the real ones. For those there is a
  // place: as many of their numbers are claimable as there are places of theirs, in every epoch.
  const bool filler = own_index >= order.real_samples(own_batch);
  std::uint64_t sequence = filler ? 0 : unplaced_from_;
  if (filler) {
    sequence = opened_ - 1;
    while (slot(sequence).epoch != epoch || slot(sequence).batch != own_batch) --sequence;
  }
  while (!filler && (slot(sequence).epoch != epoch || slot(sequence).placed == slot(sequence).real)) ++sequence;
  Slot& found = slot(sequence);
  const std::size_t index = filler ? static_cast<std::size_t>(own_index) : found.placed++;
  found.numbers[index] = number;
  while (unplaced_from_ < opened_ && slot(unplaced_from_).placed == slot(unplaced_from_).real) ++unplaced_from_;
  placed_.settle(number);
  advance();
  return {&found, index, 1};
}

RankProgress SlotRing::progress() const {
  std::lock_guard lock(mutex_);
  const Position& start = order_.start();
  const bool first = given_epoch_ == start.epoch;
  RankProgress progress{{given_epoch_, 0, first ? start.offset : 0, first ? start.used : std::vector<bool>{}}, 0, {}};
  const Order& order = order_.order(given_epoch_);
  if (given_batches_ == order.batches_per_epoch()) return {{given_epoch_ + 1, 0, 0, {}}, 0, {}};
  if (options_.window == 0) {
    progress.samples = order.samples_before(given_batches_);
  } else {
    progress.samples = order_.epoch_sample(given_.first()).sample;
    progress.used = given_.ahead();
  }
  return progress;
}

}  // namespace unstarve
