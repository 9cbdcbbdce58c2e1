#include "unstarve/storage/remote/latency.h"

#include <catch2/catch.hpp>

namespace unstarve::remote {

TEST_CASE("a size class has no percentile before enough durations") {
  LatencyTracker tracker;
  for (int i = 0; i < 15; ++i) tracker.add(1000, 5);
  CHECK_FALSE(tracker.p95_ns(1000));
  tracker.add(1000, 5);
  CHECK(tracker.p95_ns(1000) == 5);
  CHECK(tracker.p95_ns(1023) == 5);
  CHECK_FALSE(tracker.p95_ns(1024));
}

TEST_CASE("the percentile covers the last durations only") {
  LatencyTracker tracker;
  for (int i = 1; i <= 64; ++i) tracker.add(100, i);
  CHECK(tracker.p95_ns(100) == 61);  // 0.95 * 64 = 60.8
  for (int i = 0; i < 64; ++i) tracker.add(100, 1000);
  CHECK(tracker.p95_ns(100) == 1000);
}

TEST_CASE("the smallest and largest sizes have a class") {
  LatencyTracker tracker;
  for (int i = 0; i < 16; ++i) {
    tracker.add(0, 1);
    tracker.add(~std::uint64_t{0}, 2);
  }
  CHECK(tracker.p95_ns(0) == 1);
  CHECK(tracker.p95_ns(~std::uint64_t{0}) == 2);
}

}  // namespace unstarve::remote
