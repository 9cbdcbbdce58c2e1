#include "unstarve/pipeline/delivery/delivery.h"

#include <algorithm>
#include <string>
#include <utility>

#include "unstarve/core/format_error.h"

namespace unstarve {

Delivery::Delivery(const RunOrder& order, const SlotLayout& layout, const SlotLimits& limits, Device& device)
    : order_(order),
      pool_(layout, limits, device),
      open_(static_cast<std::size_t>(std::max(limits.prefetch, limits.max_prefetch)) + 2),
      next_{order_.start().epoch, order_.start().batch},
      delivered_(next_) {}

Claim Delivery::claim_of(std::uint64_t number) const {
  const RunOrder::EpochSample sample = order_.epoch_sample(number);
  const std::uint64_t batch_size = pool_.layout().samples;
  return {sample.epoch, sample.sample / batch_size, static_cast<std::size_t>(sample.sample % batch_size), 1};
}

bool Delivery::may_open() const {
  return !exhausted() && pool_.has_free() &&
         open_.opened() < std::max(requested_, open_.taken()) + static_cast<std::uint64_t>(pool_.prefetch());
}

Slot& Delivery::open() {
  Slot& slot = pool_.acquire();  // a free one: their memory is allocated once
  slot.batch = order_.batch(next_.epoch, next_.batch);
  slot.fill = BatchFill(slot.batch.samples);
  std::fill(slot.arrays.good.begin(), slot.arrays.good.end(), std::uint8_t{1});
  open_.push(slot);
  next_ = slot.batch.last_of_epoch ? BatchPosition{next_.epoch + 1, 0} : BatchPosition{next_.epoch, next_.batch + 1};
  return slot;
}

bool Delivery::finish(const Claim& claim, std::optional<Error> failure, std::size_t failure_index) {
  const std::lock_guard lock(mutex_);
  return claim.slot->fill.finish(claim.count, std::move(failure), failure_index);
}

void Delivery::publish(Slot& slot) {
  {
    const std::lock_guard lock(mutex_);
    slot.fill.set_complete();
  }
  ready_.notify_all();
}

bool Delivery::next_is_ready() const {
  return closed_ || (open_.empty() ? exhausted() : open_.first().fill.complete());
}

// The pool may have to grow for a consumer that keeps batches.
void Delivery::request() {
  const bool first = requested_ <= open_.taken();
  bool changed = first;
  pool_.note_request(first);
  requested_ = open_.taken() + 1;
  if (!closed_ && !exhausted()) {
    if (pool_.grow()) changed = true;
    if (!pool_.grows() && open_.empty() && !pool_.has_free())
      throw argument_error(
          "all {} batch buffers are held by the consumer. Release one before requesting the next batch.", pool_.size());
  }
  advance();
  if (changed) work_.notify_all();
}

void Delivery::add_prefetch_slots() {
  std::unique_lock lock(mutex_);
  while (pool_.lacks_slots() && !closed_ && !exhausted()) {
    lock.unlock();
    std::list<Slot> made;
    try {
      made = pool_.make();
    } catch (const std::exception&) {  // the run continues with the present slots
      lock.lock();
      pool_.limit_prefetch();
      return;
    }
    lock.lock();
    pool_.add(std::move(made));
    advance();
  }
}

bool Delivery::wait(std::chrono::milliseconds timeout) {
  add_prefetch_slots();
  std::unique_lock lock(mutex_);
  request();
  return ready_.wait_for(lock, timeout, [this] { return next_is_ready(); });
}

Slot* Delivery::take() {
  add_prefetch_slots();
  std::unique_lock lock(mutex_);
  request();
  ready_.wait(lock, [this] { return next_is_ready(); });
  if (closed_ || open_.empty()) return nullptr;
  Slot& slot = open_.first();
  open_.pop();
  pool_.hold();
  if (!slot.fill.failure()) {
    delivered_ = {slot.batch.epoch, slot.batch.index + 1};
    note_taken(slot);
  }
  advance();
  work_.notify_all();  // another batch may be opened, unless `prefetch` is 0
  return &slot;
}

const Slot* Delivery::peek() const {
  const std::lock_guard lock(mutex_);
  return closed_ || open_.empty() || !open_.first().fill.complete() ? nullptr : &open_.first();
}

void Delivery::release(Slot& slot) {
  if (::getpid() != process_) return;  // in a fork the lock may be locked forever
  std::list<Slot> surplus;             // freed without the lock
  {
    const std::lock_guard lock(mutex_);
    surplus = pool_.release(slot);
    advance();
  }
  work_.notify_all();
}

void Delivery::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  work_.notify_all();
  ready_.notify_all();
}

RankProgress Delivery::progress() const {
  const std::lock_guard lock(mutex_);
  const EpochPosition& start = order_.start();
  if (delivered_.batch == order_.of_epoch(delivered_.epoch).batches_per_epoch())
    return {{delivered_.epoch + 1, 0, 0, {}}, 0, {}};
  const bool first = delivered_.epoch == start.epoch;
  RankProgress progress{
      {delivered_.epoch, 0, first ? start.offset : 0, first ? start.used : std::vector<bool>{}}, 0, {}};
  describe_progress(progress);
  return progress;
}

void Delivery::set_prefetch(int prefetch) {
  {
    const std::lock_guard lock(mutex_);
    pool_.set_prefetch(prefetch);
    advance();
  }
  work_.notify_all();
}

std::size_t Delivery::all_held() const {
  const std::lock_guard lock(mutex_);
  return closed_ || exhausted() ? 0 : pool_.all_held();
}

std::size_t Delivery::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  return pool_.memory_bytes();
}

std::size_t Delivery::borrowed_bytes() const {
  const std::lock_guard lock(mutex_);
  return pool_.borrowed_bytes();
}

}  // namespace unstarve
