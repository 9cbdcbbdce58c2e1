#include "unstarve/pipeline/executor/slot_ring.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace unstarve {
namespace {

// After it held two batches once, a consumer has a slot for each during so many batches.
constexpr int kTwoHeldFor = 32;

}  // namespace

SlotRing::SlotRing(const RunOrder& order, Options options, Device& device)
    : order_(order),
      options_(options),
      prefetch_(options.prefetch),
      device_(device),
      next_epoch_(order_.start().epoch),
      next_batch_(order_.start().batch),
      given_epoch_(order_.start().epoch),
      given_batches_(order_.start().batch),
      placed_(std::max<std::uint64_t>(options.window, 1)),
      given_(std::max<std::uint64_t>(options.window, 1)) {
  in_flight_.resize(static_cast<std::size_t>(std::max(options_.prefetch, options_.most_prefetch)) + 2);
  for (std::size_t i = 0; i < wanted_slots(false); ++i) add_slot(make_slot());
}

std::list<Slot> SlotRing::make_slot() const {
  const std::size_t bytes = options_.sample_bytes * (options_.batch_samples + (options_.padded ? 1 : 0));
  std::list<Slot> made(1);
  Slot& slot = made.front();
  // The workers take the page faults side by side, and the first batch those of its own slot alone.
  slot.memory = options_.pinned ? device_.allocate_pinned(bytes) : allocate_untouched(bytes);
  slot.labels.resize(options_.batch_samples);
  slot.ids.resize(options_.batch_samples);
  slot.good.resize(options_.batch_samples);
  if (options_.padded) slot.sizes.resize(options_.batch_samples);
  slot.targets.resize(options_.batch_samples * options_.classes);
  if (options_.files) slot.files.resize(options_.batch_samples);
  if (options_.window > 0) slot.numbers.resize(options_.batch_samples);
  return made;
}

void SlotRing::add_slot(std::list<Slot>&& made) {
  free_.reserve(slots_.size() + 1);  // release() must not allocate
  free_.push_back(&made.front());
  slots_.splice(slots_.end(), made);
}

void SlotRing::set_prefetch(int prefetch) {
  {
    std::lock_guard lock(mutex_);
    prefetch_ = prefetch;
    advance();
  }
  work_.notify_all();
}

void SlotRing::follow_prefetch() {
  std::unique_lock lock(mutex_);
  const auto wanted = [this] { return wanted_slots(false); };
  while (slots_.size() < wanted() && has_own_room() && !closed_ && !exhausted()) {
    // Memory may come of a function of the user's, which must not meet the lock.
    lock.unlock();
    std::list<Slot> made;
    try {
      made = make_slot();
    } catch (const std::exception&) {
      // Nobody asked for it but the tuning: the run goes on with what there is.
      lock.lock();
      if (slots_.size() < wanted()) prefetch_ -= static_cast<int>(wanted() - slots_.size());
      return;
    }
    lock.lock();
    add_slot(std::move(made));
    advance();
  }
}

bool SlotRing::exhausted() const { return !order_.has(next_epoch_); }

bool SlotRing::may_open() const {
  return !exhausted() && !free_.empty() && opened_ < std::max(asked_, taken_) + static_cast<std::uint64_t>(prefetch_);
}

void SlotRing::open() {
  Slot* slot = free_.back();
  free_.pop_back();
  const Order& order = order_.order(next_epoch_);
  slot->epoch = next_epoch_;
  slot->batch = next_batch_;
  slot->samples = static_cast<std::size_t>(order.batch_samples(next_batch_));
  slot->real = static_cast<std::size_t>(order.real_samples(next_batch_));
  slot->unfinished = slot->samples;
  slot->placed = 0;
  slot->complete = false;
  slot->failure.reset();
  std::fill(slot->good.begin(), slot->good.end(), std::uint8_t{1});
  in_flight_[opened_ % in_flight_.size()] = slot;
  ++opened_;
  open_numbers_ += slot->samples;
  if (++next_batch_ == order.batches_per_epoch()) {
    ++next_epoch_;
    next_batch_ = 0;
  }
  if (options_.window > 0) return;
  filling_ = slot;
  filling_next_ = 0;
}

std::optional<std::uint64_t> SlotRing::first_unclaimed() const {
  if (filling_) return order_.number(filling_->epoch, filling_->batch, filling_next_);
  if (exhausted()) return {};
  return order_.number(next_epoch_, next_batch_, 0);
}

bool SlotRing::begin_ahead(const std::function<bool(std::uint64_t)>& begin) {
  const std::lock_guard lock(mutex_);
  const std::optional<std::uint64_t> first = first_unclaimed();
  if (closed_ || ahead_ || !first || !begin(*first)) return false;
  return ahead_ = true;
}

bool SlotRing::end_ahead(const std::function<void(std::uint64_t)>& end) {
  const std::lock_guard lock(mutex_);
  const std::optional<std::uint64_t> first = first_unclaimed();
  if (closed_ || !ahead_ || !first) return false;
  end(*first);
  ahead_ = false;
  return true;
}

std::optional<Claim> SlotRing::claim(std::size_t most) {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [&] { return closed_ || filling_ || may_open() || exhausted(); });
  if (closed_) return {};
  if (!filling_) {
    if (!may_open()) return {};  // exhausted
    open();
    // Others may be waiting for the samples of this batch.
    work_.notify_all();
  }
  const Claim claim{filling_, filling_next_, std::min(most, filling_->samples - filling_next_), ahead_};
  filling_next_ += claim.count;
  if (filling_next_ == filling_->samples) filling_ = nullptr;
  return claim;
}

bool SlotRing::finish(const Claim& claim, std::optional<Error> failure, std::size_t failure_index) {
  std::lock_guard lock(mutex_);
  Slot& slot = *claim.slot;
  if (failure && (!slot.failure || failure_index < slot.failure_index)) {
    slot.failure = std::move(failure);
    slot.failure_index = failure_index;
  }
  slot.unfinished -= claim.count;
  return slot.unfinished == 0;
}

void SlotRing::publish(Slot* slot) {
  {
    std::lock_guard lock(mutex_);
    slot->complete = true;
  }
  ready_.notify_all();
}

bool SlotRing::ready() const {
  return closed_ || (taken_ < opened_ ? in_flight_[taken_ % in_flight_.size()]->complete : exhausted());
}

void SlotRing::ask() {
  bool news = asked_ <= taken_;  // asked for the first time
  if (news && two_held_for_ > 0) --two_held_for_;
  if (held_ > 1) two_held_for_ = kTwoHeldFor;
  asked_ = taken_ + 1;
  if (options_.grow) {
    for (; !closed_ && !exhausted() && slots_.size() < slots_asked(prefetch_, held_) && take_room(); news = true) {
      try {
        add_slot(make_slot());
      } catch (...) {
        if (!has_own_room()) options_.room->give_back(options_.slot_bytes);
        throw;
      }
    }
  } else if (taken_ == opened_ && free_.empty() && !exhausted() && !closed_) {
    throw Error(ErrorKind::kArgument,
                "all " + std::to_string(slots_.size()) +
                    " batch buffers are held by the consumer. Release one before requesting the next batch.");
  }
  advance();
  if (news) work_.notify_all();
}

bool SlotRing::wait(std::chrono::milliseconds most) {
  follow_prefetch();
  std::unique_lock lock(mutex_);
  ask();
  return ready_.wait_for(lock, most, [this] { return ready(); });
}

Slot* SlotRing::take() {
  follow_prefetch();
  std::unique_lock lock(mutex_);
  ask();
  ready_.wait(lock, [this] { return ready(); });
  if (closed_ || taken_ == opened_) return nullptr;
  Slot* slot = in_flight_[taken_ % in_flight_.size()];
  ++taken_;
  ++held_;
  if (!slot->failure) {
    given_batches_ = slot->batch + 1;
    given_epoch_ = slot->epoch;
    for (std::size_t i = 0; options_.window > 0 && i < slot->samples; ++i) given_.settle(slot->numbers[i]);
  }
  advance();
  // With `prefetch` 0 nothing may be opened now; otherwise one more may.
  work_.notify_all();
  return slot;
}

const Slot* SlotRing::peek() const {
  std::lock_guard lock(mutex_);
  if (closed_ || taken_ == opened_) return nullptr;
  const Slot* slot = in_flight_[taken_ % in_flight_.size()];
  return slot->complete ? slot : nullptr;
}

void SlotRing::release(Slot* slot) {
  if (::getpid() != process_) return;  // a fork: who held the lock at that moment holds it for ever
  std::list<Slot> surplus;             // freed outside of the lock
  {
    std::lock_guard lock(mutex_);
    --held_;
    // One that could not grow may wait for this very slot.
    const bool wanted = options_.most_slots > 0 && free_.empty();
    if (slots_.size() > wanted_slots(two_held_for_ > 0) && !wanted) {
      give_room_back();
      const auto place = std::find_if(slots_.begin(), slots_.end(), [slot](const Slot& s) { return &s == slot; });
      surplus.splice(surplus.end(), slots_, place);
    } else {
      free_.push_back(slot);
    }
    advance();
  }
  work_.notify_all();
}

std::size_t SlotRing::all_held() const {
  std::lock_guard lock(mutex_);
  return !closed_ && !exhausted() && held_ == slots_.size() && !may_grow() ? held_ : 0;
}

void SlotRing::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  work_.notify_all();
  ready_.notify_all();
}

std::size_t SlotRing::borrowed_bytes() const {
  std::lock_guard lock(mutex_);
  const std::size_t own = options_.most_slots;
  return own > 0 && slots_.size() > own ? (slots_.size() - own) * options_.slot_bytes : 0;
}

std::size_t SlotRing::memory_bytes() const {
  std::lock_guard lock(mutex_);
  return slots_.size() * options_.slot_bytes;
}

}  // namespace unstarve
