#include "unstarve/core/clock.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

TEST_CASE("the manual clock wakes a sleeper at its deadline and not before") {
  unstarve::ManualClock clock;
  CHECK(clock.now_ns() == 0);
  std::atomic<std::int64_t> woke_at{-1};
  std::jthread sleeper([&] {
    clock.sleep_until(100);
    woke_at = clock.now_ns();
  });
  clock.advance(99);
  CHECK(woke_at == -1);
  clock.advance(1);
  sleeper.join();
  CHECK(woke_at == 100);
  clock.sleep_until(50);  // in the past: returns immediately
}

TEST_CASE("the steady clock does not return before the deadline") {
  unstarve::Clock& clock = unstarve::steady_clock();
  const std::int64_t deadline = clock.now_ns() + 2'000'000;
  clock.sleep_until(deadline);
  CHECK(clock.now_ns() >= deadline);
}
