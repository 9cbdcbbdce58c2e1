#pragma once
// The number of slots of a ring: as few as keep its workers busy, because slots are most of a loader's memory.
//
// A consumer that requests a batch usually still holds the previous one, while `prefetch` batches are filled: the
// requested one and those after it. One more slot is used only while a sample takes longer than a whole batch. The ring
// has it from the start with out-of-order delivery, and if slots cannot be added for a consumer that holds two batches.
//
// Threads: pure functions.

#include <algorithm>
#include <cstddef>

namespace unstarve {

struct SlotNeeds {
  int prefetch = 2;        // batches, 0 or more
  bool grow = false;       // slots are added if the consumer holds more
  bool relaxed = false;    // out-of-order delivery
  bool holds_two = false;  // the consumer recently held two or more batches while it requested another
};

// Permanent slots; additional ones are freed as soon as the consumer returns them.
[[nodiscard]] constexpr std::size_t slots_kept(const SlotNeeds& needs) {
  if (!needs.grow || needs.relaxed) return static_cast<std::size_t>(needs.prefetch) + 2;
  return static_cast<std::size_t>(std::max(needs.prefetch, 1)) + (needs.holds_two ? 2 : 1);
}

// With `grow`: the slots required to keep filling batches while the consumer holds `held` and requests one more.
[[nodiscard]] constexpr std::size_t slots_requested(int prefetch, std::size_t held) {
  return static_cast<std::size_t>(std::max(prefetch, 1)) + held;
}

}  // namespace unstarve
