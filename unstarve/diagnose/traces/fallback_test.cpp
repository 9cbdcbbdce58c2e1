#include "unstarve/diagnose/traces/fallback.h"

#include <catch2/catch.hpp>

#include "unstarve/diagnose/traces/reduce.h"

namespace unstarve {
namespace {

// Steps of 10 ms: a kernel (1 ms), a copy to the host (2 to 3 ms), a copy to the device (8 to 9 ms), a kernel.
class RoundTrips {
 public:
  explicit RoundTrips(std::uint64_t to_host = 1 << 20, std::uint64_t to_device = 1 << 20) {
    for (int step = 0; step < 6; ++step) {
      add(TraceActivity::kStep, step, 0, 10, "ProfilerStep");
      add(TraceActivity::kLaunch, step, 0, 0.5, "cudaLaunchKernel");
      add(TraceActivity::kKernel, step, 1, 2, "gemm");
      copy(step, 2, 3, CopyDirection::kToHost, to_host);
      copy(step, 8, 9, CopyDirection::kToDevice, to_device);
      add(TraceActivity::kKernel, step, 9, 10, "gemm");
    }
  }
  TraceEvent& add(TraceActivity activity, int step, double begin_ms, double end_ms, const char* name,
                  const char* lane = nullptr) {
    TraceEvent event;
    event.begin_ns = static_cast<std::int64_t>(1e6 * (10 * step + begin_ms));
    event.end_ns = static_cast<std::int64_t>(1e6 * (10 * step + end_ms));
    event.activity = activity;
    event.name = events.name_id(name);
    event.lane = events.lane_id(lane != nullptr ? lane : activity <= TraceActivity::kMemset ? "stream" : "main");
    events.add(event);
    return events.events().back();
  }
  void in_each(TraceActivity activity, double begin_ms, double end_ms, const char* name, const char* lane = nullptr) {
    for (int step = 0; step < 6; ++step) add(activity, step, begin_ms, end_ms, name, lane);
  }
  TraceUse reduce() { return reduce_trace(events); }
  TraceEvents events;

 private:
  void copy(int step, double begin_ms, double end_ms, CopyDirection direction, std::uint64_t bytes) {
    TraceEvent& event = add(TraceActivity::kCopy, step, begin_ms, end_ms, "Memcpy");
    event.direction = direction;
    event.bytes = bytes;
  }
};

TEST_CASE("an operator on the CPU between two copies is a fallback, and no synchronisation") {
  RoundTrips trips;
  trips.in_each(TraceActivity::kSynchronisation, 1, 3, "cudaStreamSynchronize");
  trips.in_each(TraceActivity::kOperator, 3.5, 7.5, "aten::linalg_svd");
  trips.in_each(TraceActivity::kOperator, 3.6, 7.4, "aten::_linalg_svd");  // called by it
  trips.in_each(TraceActivity::kOperator, 7.6, 9.5, "aten::to");
  const TraceUse use = trips.reduce();
  CHECK(use.fallback.count == 5);  // without the first step
  CHECK(use.fallback.seconds == Approx(0.025));
  CHECK(use.fallback.bytes == 10 << 20);
  REQUIRE(use.fallback.operators.size() == 1);
  CHECK(use.fallback.operators[0].name == "aten::linalg_svd");
  CHECK(use.fallback.operators[0].seconds == Approx(0.02));
  CHECK(use.idle.synchronisation_s == Approx(0).margin(1e-9));
}

TEST_CASE("an operator of which only a part runs on the CPU contains the gap") {
  RoundTrips trips;
  trips.in_each(TraceActivity::kOperator, 0.5, 9.5, "forward");
  trips.in_each(TraceActivity::kOperator, 1, 9.5, "aten::linalg_eigh");
  const TraceUse use = trips.reduce();
  CHECK(use.fallback.count == 5);
  REQUIRE(use.fallback.operators.size() == 1);
  CHECK(use.fallback.operators[0].name == "aten::linalg_eigh");
  CHECK(use.fallback.operators[0].seconds == Approx(0.025));
}

TEST_CASE("copies of similar size are a fallback in traces without operators") {
  CHECK(RoundTrips().reduce().fallback.count == 5);
  CHECK(RoundTrips().reduce().fallback.operators.empty());
  CHECK(RoundTrips(1 << 20, 100 << 20).reduce().fallback.count == 0);  // results, then the next batch
  RoundTrips waits;
  waits.in_each(TraceActivity::kAllocation, 3, 7, "cudaMalloc");
  CHECK(waits.reduce().fallback.count == 0);
}

TEST_CASE("what is no fallback") {
  CHECK(RoundTrips(8).reduce().fallback.count == 0);  // a loss
  RoundTrips loader;
  loader.in_each(TraceActivity::kLoader, 4, 7, "enumerate(DataLoader)");
  loader.in_each(TraceActivity::kOperator, 3.5, 7.5, "aten::stack");
  CHECK(loader.reduce().fallback.count == 0);
  RoundTrips transfers;
  transfers.in_each(TraceActivity::kOperator, 3, 7.5, "aten::copy_");
  CHECK(transfers.reduce().fallback.count == 0);
  RoundTrips elsewhere;
  elsewhere.in_each(TraceActivity::kOperator, 3.5, 7.5, "aten::linalg_svd", "another thread");
  CHECK(elsewhere.reduce().fallback.count == 0);
  RoundTrips launched;  // a kernel in between
  launched.in_each(TraceActivity::kKernel, 5, 5.1, "gemm");
  launched.in_each(TraceActivity::kOperator, 3.5, 7.5, "aten::mm");
  CHECK(launched.reduce().fallback.count == 0);
}

TEST_CASE("a gap between two steps is no fallback") {
  RoundTrips trips(1 << 20, 1 << 20);
  TraceEvents moved;
  for (TraceEvent event : trips.events.events()) {
    if (event.activity == TraceActivity::kStep) {  // steps from 5 to 15 ms
      event.begin_ns += 5'000'000;
      event.end_ns += 5'000'000;
    }
    event.name = moved.name_id(trips.events.name(event.name));
    event.lane = moved.lane_id(trips.events.lane(event.lane));
    moved.add(event);
  }
  CHECK(reduce_trace(moved).fallback.count == 0);
}

}  // namespace
}  // namespace unstarve
