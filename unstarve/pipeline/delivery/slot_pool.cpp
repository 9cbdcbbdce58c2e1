#include "unstarve/pipeline/delivery/slot_pool.h"

#include <algorithm>
#include <utility>

#include "unstarve/pipeline/plan/slot_count.h"

namespace unstarve {
namespace {

// A consumer that held two batches keeps a slot for each of them during this many requests.
constexpr int kTwoHeldRequests = 32;

}  // namespace

SlotPool::SlotPool(const SlotLayout& layout, SlotLimits limits, Device& device)
    : layout_(layout), limits_(std::move(limits)), device_(device), prefetch_(limits_.prefetch) {
  for (std::size_t i = 0; i < required(false); ++i) add(make());
}

std::list<Slot> SlotPool::make() const {
  std::list<Slot> made(1);
  made.front().arrays = make_arrays(layout_, device_);
  return made;
}

void SlotPool::add(std::list<Slot>&& made) {
  free_.reserve(slots_.size() + 1);  // release() must not allocate
  free_.push_back(&made.front());
  slots_.splice(slots_.end(), made);
}

Slot& SlotPool::acquire() {
  Slot* const slot = free_.back();
  free_.pop_back();
  return *slot;
}

std::list<Slot> SlotPool::release(Slot& slot) {
  std::list<Slot> surplus;
  --held_;
  // A pool at its maximum may have a request that waits for this slot.
  const bool awaited = limits_.max_slots > 0 && free_.empty();
  if (slots_.size() <= required(holds_two_batches_ > 0) || awaited) {
    free_.push_back(&slot);
    return surplus;
  }
  if (!below_max() && slots_.size() > limits_.max_slots) limits_.room->give_back(layout_.slot_bytes);
  const auto at = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& other) { return &other == &slot; });
  surplus.splice(surplus.end(), slots_, at);
  return surplus;
}

void SlotPool::note_request(bool first) {
  if (first && holds_two_batches_ > 0) --holds_two_batches_;
  if (held_ > 1) holds_two_batches_ = kTwoHeldRequests;
}

bool SlotPool::grow() {
  bool added = false;
  while (limits_.grow && slots_.size() < slots_requested(prefetch_, held_)) {
    const bool paid = !below_max();
    if (paid && !(limits_.room && limits_.room->take(layout_.slot_bytes))) break;
    try {
      add(make());
    } catch (...) {
      if (paid) limits_.room->give_back(layout_.slot_bytes);
      throw;
    }
    added = true;
  }
  return added;
}

void SlotPool::limit_prefetch() {
  const std::size_t needed = required(false);
  if (slots_.size() < needed) prefetch_ -= static_cast<int>(needed - slots_.size());
}

std::size_t SlotPool::borrowed_bytes() const {
  const std::size_t own = limits_.max_slots;
  return own > 0 && slots_.size() > own ? (slots_.size() - own) * layout_.slot_bytes : 0;
}

std::size_t SlotPool::required(bool holds_two) const {
  return slots_kept({prefetch_, limits_.grow, layout_.numbered, holds_two});
}

}  // namespace unstarve
