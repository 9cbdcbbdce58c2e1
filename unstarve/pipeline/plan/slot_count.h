#pragma once
// How many slots a ring keeps: as few as keep its workers busy, since slots are nearly all of a loader's memory.
//
// A consumer that asks for a batch usually holds the one before, and `prefetch` batches are filled meanwhile: the one
// that it waits for and, once that one's last samples are under way, those behind it. One slot more would be touched
// only while a sample took longer than a whole batch. Where that is what is wanted (relaxed order, whose samples
// overtake such a one), or where slots cannot be added for a consumer that holds two, the ring has it from the start.
//
// Threads: pure functions.

#include <algorithm>
#include <cstddef>

namespace unstarve {

struct SlotNeeds {
  int prefetch = 2;        // batches, 0 or more
  bool grow = false;       // further slots come where the consumer holds more
  bool relaxed = false;    // samples overtake each other
  bool holds_two = false;  // of late the consumer held two batches or more while it asked for another
};

// Slots that stay; those beyond go as soon as the consumer gives them back.
[[nodiscard]] constexpr std::size_t slots_kept(const SlotNeeds& needs) {
  if (!needs.grow || needs.relaxed) return static_cast<std::size_t>(needs.prefetch) + 2;
  return static_cast<std::size_t>(std::max(needs.prefetch, 1)) + (needs.holds_two ? 2 : 1);
}

// Slots without which nothing would be filled while the consumer holds `held` and asks for one more; with `grow`.
[[nodiscard]] constexpr std::size_t slots_asked(int prefetch, std::size_t held) {
  return static_cast<std::size_t>(std::max(prefetch, 1)) + held;
}

}  // namespace unstarve
