#include "unstarve/diagnose/traces/window.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "unstarve/diagnose/traces/reduce.h"

namespace unstarve {
namespace {

// Steps of these lengths in ms, from 0 on, each with a call and a kernel at its begin.
class StepTrace {
 public:
  explicit StepTrace(const std::vector<int>& lengths) {
    std::int64_t at = 0;
    for (const int length : lengths) {
      add(TraceActivity::kStep, at, at + length, "ProfilerStep", "1/2");
      add(TraceActivity::kLaunch, at, at + 1, "cudaLaunchKernel", "1/2");
      add(TraceActivity::kKernel, at + 1, at + 3, "gemm", "0/7");
      at += length;
    }
  }
  void add(TraceActivity activity, std::int64_t begin_ms, std::int64_t end_ms, const char* name, const char* lane) {
    TraceEvent event;
    event.begin_ns = begin_ms * 1'000'000;
    event.end_ns = end_ms * 1'000'000;
    event.activity = activity;
    event.name = events.name_id(name);
    event.lane = events.lane_id(lane);
    events.add(event);
  }
  TraceEvents events;
};

}  // namespace

TEST_CASE("the window shows the steps that are nearest to the median") {
  StepTrace trace({90, 40, 10, 50, 10, 10, 10, 30, 10});
  const TraceWindow window = reduce_trace(trace.events).window;
  CHECK(window.seconds == Approx(0.03));
  REQUIRE(window.steps.size() == 3);
  CHECK(window.steps[1] == Approx(0.01));
  CHECK(window.lanes == std::vector<std::string>{"main thread", "device 0, stream 7"});
  REQUIRE(window.spans.size() == 6);
  CHECK(window.spans[1].begin_s == Approx(0.01));
  CHECK(window.spans[1].part == StepActivity::kRuntime);
  CHECK(window.names[static_cast<std::size_t>(window.spans[5].name)] == "gemm");
  CHECK(window.spans[5].seconds == Approx(0.002));
  CHECK(window.left_out == 0);
}

TEST_CASE("the window has other threads that launch kernels, and cuts events at its ends") {
  StepTrace trace({10, 10, 10, 10, 10});
  trace.add(TraceActivity::kLaunch, 22, 23, "cudaLaunchKernel", "1/3");
  trace.add(TraceActivity::kOperator, 22, 24, "backward", "1/3");
  trace.add(TraceActivity::kOperator, 22, 24, "elsewhere", "1/4");
  trace.add(TraceActivity::kOperator, 0, 50, "train", "1/2");
  const TraceWindow window = reduce_trace(trace.events).window;
  CHECK(window.lanes == std::vector<std::string>{"main thread", "thread 3", "device 0, stream 7"});
  CHECK(std::find(window.names.begin(), window.names.end(), "elsewhere") == window.names.end());
  CHECK(window.spans[0].begin_s == 0);  // the longest first
  CHECK(window.spans[0].seconds == Approx(0.03));
}

TEST_CASE("a window has the longest events, and counts the others") {
  StepTrace trace({100, 100, 100});
  for (int i = 0; i < 2500; ++i) {
    TraceEvent event;
    event.begin_ns = 10'000'000 + 10'000 * i;
    event.end_ns = event.begin_ns + 1000 + i;
    event.activity = TraceActivity::kKernel;
    event.lane = trace.events.lane_id("0/7");
    trace.events.add(event);
  }
  const TraceWindow window = reduce_trace(trace.events).window;
  CHECK(window.spans.size() == kMostSpans);
  CHECK(window.left_out == 506);
  for (const WindowSpan& span : window.spans) CHECK(span.seconds > 1.4e-6);
}

TEST_CASE("without steps the window is the whole trace") {
  StepTrace trace({});
  trace.add(TraceActivity::kKernel, 5, 9, "gemm", "0/7");
  trace.add(TraceActivity::kKernel, 20, 25, "gemm", "0/7");
  const TraceUse use = reduce_trace(trace.events);
  CHECK(use.window.seconds == Approx(0.02));
  CHECK(use.window.steps.empty());
  CHECK(use.window.spans.size() == 2);
  TraceEvents none;
  CHECK(reduce_trace(none).window.spans.empty());
}

}  // namespace unstarve
