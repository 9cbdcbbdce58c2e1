#include "unstarve/pipeline/executor/slot_ring.h"

#include <catch2/catch.hpp>
#include <chrono>

#include "unstarve/device/device.h"
#include "unstarve/pipeline/order/run_order.h"

namespace unstarve {
namespace {

// What a worker does to one batch.
void fill(SlotRing& ring) {
  const auto claim = ring.claim(1000);
  REQUIRE(claim);
  REQUIRE(ring.finish(*claim));
  claim->slot->kept = claim->slot->samples;
  ring.publish(claim->slot);
}

TEST_CASE("the ring follows another number of batches ahead, up and down") {
  const auto device = open_device("cpu");
  const RunOrder order(Order({}, {10, LastBatch::kDrop}, 1000), {}, 0);
  SlotRing::Options options;
  options.sample_bytes = 100;
  options.slot_bytes = 1000;
  options.batch_samples = 10;
  options.most_prefetch = 6;
  SlotRing ring(order, options, *device);
  CHECK(ring.memory_bytes() == 4 * 1000);
  ring.set_prefetch(6);
  CHECK(ring.memory_bytes() == 4 * 1000);  // the consumer brings them
  CHECK_FALSE(ring.wait(std::chrono::milliseconds(0)));
  CHECK(ring.memory_bytes() == 8 * 1000);
  for (int i = 0; i < 7; ++i) fill(ring);  // six ahead of the one that is asked for
  std::uint64_t next = 0;
  const auto take = [&] {
    Slot* const slot = ring.take();
    REQUIRE(slot);
    CHECK(slot->batch == next++);
    ring.release(slot);
  };
  ring.set_prefetch(1);
  for (int i = 0; i < 7; ++i) take();
  CHECK(ring.memory_bytes() == 3 * 1000);
  for (int i = 0; i < 20; ++i) {
    fill(ring);
    take();
  }
  CHECK(ring.memory_bytes() == 3 * 1000);
}

}  // namespace
}  // namespace unstarve
