#include "unstarve/core/arena.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "unstarve/core/error.h"

using unstarve::Arena;
using unstarve::ByteBudget;
using unstarve::Charge;
using unstarve::Error;
using unstarve::ErrorKind;

TEST_CASE("a budget counts what is held, and its peak") {
  ByteBudget budget(100);
  {
    Charge first = budget.charge(60, "first");
    const Charge second = budget.charge(40, "second");
    CHECK(budget.used() == 100);
    Charge moved = std::move(first);
    CHECK(moved.bytes() == 60);
    CHECK(first.bytes() == 0);  // NOLINT(bugprone-use-after-move): what a moved-from charge holds is the point
    CHECK(budget.used() == 100);
    moved = Charge();
    CHECK(budget.used() == 40);
  }
  CHECK(budget.used() == 0);
  CHECK(budget.peak() == 100);
}

TEST_CASE("a budget says who asked, for how much, and what is left") {
  ByteBudget budget(100);
  const Charge held = budget.charge(70, "batch slots");
  try {
    (void)budget.charge(31, "decode scratch");
    FAIL("granted");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::kMemory);
    CHECK(std::string(e.what()) == "memory budget: decode scratch asks for 31 bytes, 30 of 100 bytes are left");
  }
  CHECK(budget.used() == 70);
  CHECK_THROWS_AS(budget.charge(SIZE_MAX, "overflow"), Error);
  CHECK(budget.charge(30, "the rest").bytes() == 30);
}

TEST_CASE("threads together never hold more than the budget") {
  ByteBudget budget(1000);
  std::atomic<int> granted{0}, refused{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) {
          try {
            const Charge charge = budget.charge(400, "thread");
            if (budget.used() > 1000) std::terminate();
            ++granted;
            std::this_thread::yield();
          } catch (const Error&) {
            ++refused;
          }
        }
      });
    }
  }
  CHECK(granted + refused == 8000);
  CHECK(granted > 0);
  CHECK(budget.used() == 0);
  CHECK(budget.peak() <= 800);
}

TEST_CASE("an arena hands out aligned memory that does not overlap") {
  ByteBudget budget(1 << 20);
  Arena arena(budget, "test", 256);
  std::vector<std::pair<std::uint8_t*, std::size_t>> pieces;
  for (const std::size_t bytes : {1u, 3u, 64u, 100u, 0u, 255u, 256u, 257u, 5000u, 7u}) {
    std::uint8_t* p = arena.allocate(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(p) % 64 == 0);
    std::memset(p, static_cast<int>(pieces.size()), bytes);
    pieces.emplace_back(p, bytes);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (std::size_t b = 0; b < pieces[i].second; ++b) REQUIRE(pieces[i].first[b] == i);
  }
  CHECK(arena.used() == 5943);
  CHECK(arena.reserved() >= arena.used());
  CHECK(budget.used() == arena.reserved());
}

TEST_CASE("small alignments pack tightly") {
  ByteBudget budget(1 << 20);
  Arena arena(budget, "test");
  std::uint8_t* a = arena.allocate(1, 1);
  CHECK(arena.allocate(1, 1) == a + 1);
  CHECK(arena.allocate(4, 4) == a + 4);
  CHECK_THROWS_AS(arena.allocate(1, 3), Error);
  CHECK_THROWS_AS(arena.allocate(1, 128), Error);
}

TEST_CASE("reset keeps the memory: the same round again takes nothing more") {
  ByteBudget budget(1 << 20);
  Arena arena(budget, "test", 1024);
  const auto round = [&] {
    std::set<std::uint8_t*> places;
    for (int i = 0; i < 40; ++i) places.insert(arena.allocate(100));
    places.insert(arena.allocate(3000));
    return places;
  };
  const auto first = round();
  const std::size_t reserved = arena.reserved();
  for (int i = 0; i < 5; ++i) {
    arena.reset();
    CHECK(arena.used() == 0);
    CHECK(round() == first);
  }
  CHECK(arena.reserved() == reserved);
}

TEST_CASE("an arena that its budget refuses stays usable, and gives all back in the end") {
  ByteBudget budget(4096);
  {
    Arena arena(budget, "worker 3", 1024);
    (void)arena.allocate(1000);
    CHECK_THROWS_WITH(arena.allocate(4000), "memory budget: worker 3 asks for 4032 bytes, 3072 of 4096 bytes are left");
    CHECK_THROWS_AS(arena.allocate(SIZE_MAX), Error);
    CHECK(arena.allocate(2000) != nullptr);
    CHECK(budget.used() == arena.reserved());
  }
  CHECK(budget.used() == 0);
}
