#include "unstarve/pipeline/read_ahead/record_ring.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

constexpr std::uint64_t kLimit = std::uint64_t{1} << 20;

using Entries = std::vector<RecordRing::Entry*>;

Entries begin(RecordRing& ring) {
  Entries entries;
  ring.begin(ring.may_begin(), entries);
  return entries;
}

std::uint64_t read(RecordRing& ring) {
  const Entries entries = begin(ring);
  (void)ring.end(entries);
  return entries.size();
}

bool ready(RecordRing& ring, std::uint64_t number) {
  const RecordRing::Entry& entry = ring.entry_of(number);
  return entry.state == RecordRing::State::kReady && entry.number == number;
}

TEST_CASE("in exact order a record that is not taken keeps the ring from wrapping", "[read_ahead]") {
  RecordRing ring(100, 2, {4, kLimit, false, false});
  RecordBuffer used;
  for (std::uint64_t chunk = 0; chunk < 4; ++chunk) CHECK(read(ring) == 2);
  CHECK(ring.may_begin() == 0);
  for (const std::uint64_t number : {1, 2, 3}) ring.take(ring.entry_of(number), used);
  CHECK(ring.may_begin() == 0);  // record 0 is in the entry of record 8
  ring.take(ring.entry_of(0), used);
  CHECK(read(ring) == 2);
  CHECK(ready(ring, 8));
  CHECK(ready(ring, 9));
}

TEST_CASE("in relaxed order a slow read occupies its entry only", "[read_ahead]") {
  RecordRing ring(50, 1, {2, kLimit, true, false});
  ring.allow(50);
  RecordBuffer used;
  const Entries slow = begin(ring);
  for (std::uint64_t number = 1; number < 50; ++number) {
    REQUIRE(read(ring) == 1);
    RecordRing::Entry* const first = ring.first_ready();
    REQUIRE(first != nullptr);
    CHECK(first->number == number);
    ring.take(*first, used);
  }
  CHECK(ring.first_ready() == nullptr);
  CHECK(ring.may_begin() == 0);
  CHECK_FALSE(ring.all_taken());
  (void)ring.end(slow);
  ring.take(*ring.first_ready(), used);
  CHECK(ring.all_taken());
}

TEST_CASE("records beyond the permitted number are not taken", "[read_ahead]") {
  RecordRing ring(10, 1, {4, kLimit, true, false});
  CHECK(read(ring) == 1);
  CHECK(ring.first_ready() == nullptr);
  ring.allow(1);
  CHECK(ring.first_ready() != nullptr);
}

TEST_CASE("a paused ring drops later records, including those that are being read", "[read_ahead]") {
  RecordRing ring(100, 2, {4, kLimit, false, false});
  CHECK(read(ring) == 2);
  const Entries late = begin(ring);
  ring.pause(1);
  CHECK(ready(ring, 0));
  CHECK_FALSE(ready(ring, 1));
  CHECK(ring.may_begin() == 0);
  (void)ring.end(late);
  CHECK_FALSE(ready(ring, 2));
  RecordBuffer used;
  ring.take(ring.entry_of(0), used);
  REQUIRE(ring.resume(10));
  CHECK(read(ring) == 2);
  CHECK(ready(ring, 10));
  CHECK_FALSE(ring.resume(20));  // it is not paused
}

TEST_CASE("a limit narrows the ring to two records", "[read_ahead]") {
  RecordRing ring(100, 1, {8, 1'000'000, false, false});
  const Entries large = begin(ring);
  large[0]->record.storage.reserve_discard(600'000);
  (void)ring.end(large);
  CHECK(ring.memory_bytes() >= 600'000);
  CHECK(read(ring) == 1);
  CHECK(ring.may_begin() == 0);
}

}  // namespace
}  // namespace unstarve
