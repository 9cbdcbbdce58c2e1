#pragma once
// The memory of batches: slots that workers fill and the consumer borrows.
//
// Count:     as many slots as slot_count.h requires. With `grow`, a consumer that keeps batches gets further slots, so
//            that `prefetch` batches can still be filled; they are freed when it releases batches. With `max_slots` the
//            number is bounded.
// Reuse:     the slot released last is filled first. Memory is not touched before it is filled.
// Ownership: the pool owns all slots; a Slot reference is borrowed.
// Threads:   one at a time, except make(), which any thread may call.
// Failure:   Error(kMemory) if the device has no memory for a slot.

#include <cstddef>
#include <list>
#include <memory>
#include <vector>

#include "unstarve/pipeline/delivery/slot.h"
#include "unstarve/storage/cache/byte_budget.h"

namespace unstarve {

struct SlotLimits {
  int prefetch = 2;
  int max_prefetch = 0;                // upper bound of set_prefetch(); 0: it is not called
  bool grow = false;                   // whether slots are added for a consumer that keeps batches
  std::size_t max_slots = 0;           // 0: any number
  std::shared_ptr<ByteBudget> room{};  // pays for slots of a growing pool beyond max_slots; null: there are none
};

class SlotPool {
 public:
  SlotPool(const SlotLayout& layout, SlotLimits limits, Device& device);

  // Allocates a slot for add(). The device may call a user's function, so the caller holds no lock.
  [[nodiscard]] std::list<Slot> make() const;
  void add(std::list<Slot>&& made);

  [[nodiscard]] bool has_free() const { return !free_.empty(); }
  // A slot to fill. Precondition: has_free().
  [[nodiscard]] Slot& acquire();
  // The consumer borrows a filled slot, and later releases it. A surplus slot is returned, to be freed without a lock.
  void hold() { ++held_; }
  [[nodiscard]] std::list<Slot> release(Slot& slot);

  // The consumer requests a batch while it holds others. `first`: for the first time.
  void note_request(bool first);
  // Adds the slots that a growing pool needs for the consumer's request, and returns whether there were any.
  bool grow();
  [[nodiscard]] bool grows() const { return limits_.grow; }
  // The number of slots if the consumer holds all of them and no slot can be added; otherwise 0.
  [[nodiscard]] std::size_t all_held() const { return held_ == slots_.size() && !may_add() ? held_ : 0; }

  [[nodiscard]] int prefetch() const { return prefetch_; }
  void set_prefetch(int prefetch) { prefetch_ = prefetch; }
  // Whether `prefetch` requires another slot that may be added.
  [[nodiscard]] bool lacks_slots() const { return slots_.size() < required(false) && below_max(); }
  // Reduces `prefetch` to what the present slots are sufficient for.
  void limit_prefetch();

  [[nodiscard]] const SlotLayout& layout() const { return layout_; }
  [[nodiscard]] std::size_t size() const { return slots_.size(); }
  [[nodiscard]] std::size_t memory_bytes() const { return slots_.size() * layout_.slot_bytes; }
  [[nodiscard]] std::size_t borrowed_bytes() const;  // the part paid for by SlotLimits::room

 private:
  [[nodiscard]] std::size_t required(bool holds_two) const;
  [[nodiscard]] bool below_max() const { return limits_.max_slots == 0 || slots_.size() < limits_.max_slots; }
  [[nodiscard]] bool may_add() const {
    return below_max() || (limits_.room && limits_.room->left() >= layout_.slot_bytes);
  }

  const SlotLayout layout_;
  const SlotLimits limits_;
  Device& device_;
  int prefetch_;
  std::list<Slot> slots_;
  std::vector<Slot*> free_;
  std::size_t held_ = 0;       // by the consumer
  int holds_two_batches_ = 0;  // for this many requests the consumer counts as one that holds two batches
};

}  // namespace unstarve
