#include "unstarve/pipeline/plan/slot_count.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/slot_ring.h"

namespace unstarve {
namespace {

TEST_CASE("a ring that can grow keeps one slot for the consumer in addition to those being filled") {
  CHECK(slots_kept({.prefetch = 2, .grow = true}) == 3);
  CHECK(slots_kept({.prefetch = 1, .grow = true}) == 2);
  CHECK(slots_kept({.prefetch = 0, .grow = true}) == 2);  // the requested one is filled while one is held
  CHECK(slots_kept({.prefetch = 8, .grow = true}) == 9);
}

TEST_CASE("a consumer that holds two batches keeps a slot for each") {
  CHECK(slots_kept({.prefetch = 2, .grow = true, .holds_two = true}) == 4);
  CHECK(slots_kept({.prefetch = 0, .grow = true, .holds_two = true}) == 3);
}

TEST_CASE("a ring that cannot grow, or of relaxed order, has two slots in addition to those being filled") {
  CHECK(slots_kept({.prefetch = 2}) == 4);
  CHECK(slots_kept({.prefetch = 0}) == 2);
  CHECK(slots_kept({.prefetch = 2, .grow = true, .relaxed = true}) == 4);
  CHECK(slots_kept({.prefetch = 2, .relaxed = true, .holds_two = true}) == 4);
}

TEST_CASE("the number of slots being filled does not depend on the number held") {
  for (const int prefetch : {0, 1, 2, 8})
    for (const std::size_t held : {0, 1, 2, 5}) {
      CAPTURE(prefetch, held);
      CHECK(slots_asked(prefetch, held) == held + static_cast<std::size_t>(prefetch > 0 ? prefetch : 1));
      if (held <= 2)
        CHECK(slots_kept({.prefetch = prefetch, .grow = true, .holds_two = held == 2}) >=
              slots_asked(prefetch, held));  // no slot is allocated and freed for each batch
    }
}

// A ring that may grow, of batches of 10 samples and 1,000 bytes, and its worker.
struct Ring {
  Ring() : order(Order({}, {10, LastBatch::kDrop}, 10'000), {}, 0), ring(order, options(), *device) {}

  static SlotRing::Options options() {
    SlotRing::Options options;
    options.sample_bytes = 100;
    options.slot_bytes = 1000;
    options.batch_samples = 10;
    options.grow = true;
    return options;
  }
  void fill() {
    const auto claim = ring.claim(1000);
    REQUIRE(claim);
    REQUIRE(ring.finish(*claim));
    claim->slot->kept = claim->slot->samples;
    ring.publish(claim->slot);
  }
  std::size_t slots() const { return ring.memory_bytes() / 1000; }

  std::unique_ptr<Device> device = open_device("cpu");
  RunOrder order;
  SlotRing ring;
};

TEST_CASE("two batches are prefetched for a consumer that holds one, in three slots") {
  Ring r;
  CHECK(r.slots() == 3);
  r.fill();
  r.fill();
  Slot* held = r.ring.take();
  r.fill();  // two are ready while it works
  for (int i = 0; i < 100; ++i) {
    Slot* const next = r.ring.take();  // without waiting
    REQUIRE(next);
    r.ring.release(held);
    r.fill();  // in the slot that it returned
    held = next;
  }
  CHECK(r.slots() == 3);
  r.ring.release(held);
}

TEST_CASE("slots of a consumer that holds two are kept while it does, and freed afterwards") {
  Ring r;
  std::vector<Slot*> held;
  r.fill();
  r.fill();
  const auto take = [&] {
    held.push_back(r.ring.take());
    REQUIRE(held.back());
  };
  const auto give_back = [&] {
    r.ring.release(held.front());
    held.erase(held.begin());
  };
  take();
  r.fill();
  take();
  for (int i = 0; i < 100; ++i) {
    CHECK(r.ring.wait(std::chrono::milliseconds(0)));  // requests a batch, which adds the slot
    r.fill();
    take();
    CHECK(r.slots() == 4);
    give_back();
    CHECK(r.slots() == 4);
  }
  give_back();
  for (int i = 0; i < 100; ++i) {
    r.fill();
    take();
    give_back();
  }
  CHECK(r.slots() == 3);
  give_back();
}

}  // namespace
}  // namespace unstarve
