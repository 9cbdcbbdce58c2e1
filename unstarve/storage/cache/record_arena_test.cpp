#include "unstarve/storage/cache/record_arena.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace unstarve {
namespace {

constexpr std::size_t kRecord = 100 * RecordArena::kAlignment;

TEST_CASE("records are aligned, and do not overlap", "[storage]") {
  const auto room = std::make_shared<ByteBudget>(1 << 20);
  RecordArena arena(room);
  std::vector<std::uint8_t*> records;
  for (int i = 0; i < 100; ++i) {
    records.push_back(arena.allocate(kRecord));
    REQUIRE(records.back() != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(records.back()) % RecordArena::kAlignment == 0);
    std::memset(records.back(), i, kRecord);
  }
  for (int i = 0; i < 100; ++i) {
    CHECK(records[static_cast<std::size_t>(i)][0] == i);
    CHECK(records[static_cast<std::size_t>(i)][kRecord - 1] == i);
  }
  CHECK(arena.counts().records == 100);
  CHECK(arena.counts().bytes == 100 * kRecord);
  CHECK(arena.counts().limit == 1 << 20);
  CHECK(room->left() <= (1 << 20) - 100 * kRecord);
  CHECK(room->left() > 0);  // chunks are small compared with the budget
}

TEST_CASE("an arena ends with its budget", "[storage]") {
  const auto room = std::make_shared<ByteBudget>(10 * kRecord);
  RecordArena arena(room);
  CHECK(arena.allocate(11 * kRecord) == nullptr);
  CHECK(arena.full());
  std::vector<std::thread> threads;
  std::atomic<int> got = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) got += arena.allocate(kRecord) != nullptr ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(got == 10);
  CHECK(arena.counts().bytes == 10 * kRecord);
}

TEST_CASE("an arena is not full while another user has the budget", "[storage]") {
  const auto room = std::make_shared<ByteBudget>(10 * kRecord);
  REQUIRE(room->take(10 * kRecord));
  RecordArena arena(room);
  CHECK(arena.allocate(kRecord) == nullptr);
  CHECK_FALSE(arena.full());
  room->give_back(10 * kRecord);
  CHECK(arena.allocate(kRecord) != nullptr);
}

}  // namespace
}  // namespace unstarve
