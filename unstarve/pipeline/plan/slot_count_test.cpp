#include "unstarve/pipeline/plan/slot_count.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "unstarve/device/device.h"
#include "unstarve/pipeline/delivery/exact_delivery.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {
namespace {

TEST_CASE("a ring that can grow keeps a slot for the consumer and those that are filled") {
  CHECK(slots_kept({.prefetch = 2, .grow = true}) == 3);
  CHECK(slots_kept({.prefetch = 1, .grow = true}) == 2);
  CHECK(slots_kept({.prefetch = 0, .grow = true}) == 2);  // the requested batch, and the one that is held
  CHECK(slots_kept({.prefetch = 8, .grow = true}) == 9);
}

TEST_CASE("a consumer that holds two batches keeps a slot for each") {
  CHECK(slots_kept({.prefetch = 2, .grow = true, .holds_two = true}) == 4);
  CHECK(slots_kept({.prefetch = 0, .grow = true, .holds_two = true}) == 3);
}

TEST_CASE("a ring that cannot grow, or has out-of-order delivery, has two slots in addition to those that are filled") {
  CHECK(slots_kept({.prefetch = 2}) == 4);
  CHECK(slots_kept({.prefetch = 0}) == 2);
  CHECK(slots_kept({.prefetch = 2, .grow = true, .relaxed = true}) == 4);
  CHECK(slots_kept({.prefetch = 2, .relaxed = true, .holds_two = true}) == 4);
}

TEST_CASE("the number of slots being filled does not depend on the number held") {
  for (const int prefetch : {0, 1, 2, 8})
    for (const std::size_t held : {0, 1, 2, 5}) {
      CAPTURE(prefetch, held);
      CHECK(slots_requested(prefetch, held) == held + static_cast<std::size_t>(prefetch > 0 ? prefetch : 1));
      if (held <= 2)
        CHECK(slots_kept({.prefetch = prefetch, .grow = true, .holds_two = held == 2}) >=
              slots_requested(prefetch, held));  // no slot is allocated and freed for each batch
    }
}

// A delivery with growing slots, batches of 10 samples and slots of 1,000 bytes, and its only worker.
struct Growing {
  Growing()
      : order(Order({}, {10, LastBatch::kDrop}, 10'000), {}, 0),
        delivery(order, {.samples = 10, .sample_bytes = 100, .slot_bytes = 1000}, {.grow = true}, *device) {}

  void fill() {
    const auto claim = delivery.claim(1000);
    REQUIRE(claim);
    REQUIRE(delivery.finish(*claim));
    claim->slot->delivered.samples = claim->slot->batch.samples;
    delivery.publish(*claim->slot);
  }
  std::size_t slots() const { return delivery.memory_bytes() / 1000; }

  std::unique_ptr<Device> device = open_device("cpu");
  RunOrder order;
  ExactDelivery delivery;
};

TEST_CASE("two batches are prefetched for a consumer that holds one, in three slots") {
  Growing r;
  CHECK(r.slots() == 3);
  r.fill();
  r.fill();
  Slot* held = r.delivery.take();
  r.fill();  // two batches are ready while the consumer works
  for (int i = 0; i < 100; ++i) {
    Slot* const next = r.delivery.take();  // immediately
    REQUIRE(next);
    r.delivery.release(*held);
    r.fill();  // in the slot that it released
    held = next;
  }
  CHECK(r.slots() == 3);
  r.delivery.release(*held);
}

TEST_CASE("the slot of a consumer that holds two batches stays while it holds two, and is then freed") {
  Growing r;
  std::vector<Slot*> held;
  r.fill();
  r.fill();
  const auto take = [&] {
    held.push_back(r.delivery.take());
    REQUIRE(held.back());
  };
  const auto give_back = [&] {
    r.delivery.release(*held.front());
    held.erase(held.begin());
  };
  take();
  r.fill();
  take();
  for (int i = 0; i < 100; ++i) {
    CHECK(r.delivery.wait(std::chrono::milliseconds(0)));  // requests a batch, which adds the slot
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
