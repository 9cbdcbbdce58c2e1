#include "unstarve/core/machine/thread_time.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "unstarve/core/clock.h"

namespace unstarve {
namespace {

TEST_CASE("computing uses CPU time, sleeping does not") {
  std::thread([] {
    const std::int64_t begun = thread_cpu_ns();
    while (thread_cpu_ns() - begun < 5'000'000) continue;
    const std::int64_t before = thread_cpu_ns();
    steady_clock().sleep_until(steady_clock().now_ns() + 20'000'000);
    CHECK(thread_cpu_ns() - before < 10'000'000);
  }).join();
}

TEST_CASE("sleeps are counted, computing is not") {
  std::thread([] {
    const std::optional<std::int64_t> begun = thread_sleeps();
    if (!begun) {
      WARN("SKIPPED, this kernel does not count how often a thread sleeps");
      return;
    }
    for (int i = 0; i < 10; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::optional<std::int64_t> slept = thread_sleeps();
    CHECK(*slept - *begun >= 10);
    const std::int64_t cpu = thread_cpu_ns();
    while (thread_cpu_ns() - cpu < 20'000'000) continue;
    CHECK(*thread_sleeps() - *slept <= 1);
  }).join();
}

TEST_CASE("take_ns() returns the delay since the previous call") {
  RunDelay delay;
  const std::int64_t begun = steady_clock().now_ns();
  std::int64_t sum = 0;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t ns = delay.take_ns();
    CHECK(ns >= 0);
    sum += ns;
  }
  CHECK(sum <= steady_clock().now_ns() - begun);
}

}  // namespace
}  // namespace unstarve
