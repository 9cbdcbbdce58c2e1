#include "unstarve/diagnose/traces/reduce.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

namespace unstarve {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// Events with times in milliseconds, in a thread "main" or a stream.
class Recording {
 public:
  explicit Recording(std::size_t limit = kMostEvents) : events_(limit) {}
  TraceEvent& add(TraceActivity activity, double begin_ms, double end_ms, const char* name = "x",
                  const char* lane = nullptr) {
    TraceEvent event;
    event.begin_ns = static_cast<std::int64_t>(begin_ms * kMs);
    event.end_ns = static_cast<std::int64_t>(end_ms * kMs);
    event.activity = activity;
    event.name = events_.name_id(name);
    event.lane = events_.lane_id(lane != nullptr ? lane : activity <= TraceActivity::kMemset ? "stream" : "main");
    events_.add(event);
    return events_.events().back();
  }
  // Steps of 10 ms from 0 on.
  void add_steps(int count) {
    for (int i = 0; i < count; ++i) add(TraceActivity::kStep, 10 * i, 10 * (i + 1), "ProfilerStep");
  }
  TraceUse reduce() { return reduce_trace(events_); }
  TraceEvents& events() { return events_; }

 private:
  TraceEvents events_;
};

double part(const TraceUse& use, StepActivity which) { return 1e3 * use.parts[static_cast<std::size_t>(which)]; }
double sum(const PartSeconds& parts) { return std::accumulate(parts.begin(), parts.end(), 0.0); }

TEST_CASE("a trace without events") {
  TraceEvents events;
  const TraceUse use = reduce_trace(events);
  CHECK(use.events == 0);
  CHECK(use.analysed_s == 0);
  CHECK(use.steps.empty());
}

TEST_CASE("each moment counts to one part, in the order of priority") {
  Recording trace;
  trace.add_steps(2);
  trace.add(TraceActivity::kOperator, 0, 9);
  trace.add(TraceActivity::kLoader, 1, 8);
  trace.add(TraceActivity::kLaunch, 2, 7);
  trace.add(TraceActivity::kCollective, 3, 6.5, "ncclDevKernel");
  trace.add(TraceActivity::kMemset, 4, 6);
  trace.add(TraceActivity::kCopy, 4.5, 5.75);
  trace.add(TraceActivity::kKernel, 5, 5.5);
  const TraceUse use = trace.reduce();
  REQUIRE(use.steps.size() == 2);
  CHECK(part(use, StepActivity::kKernel) == Approx(0.5));
  CHECK(part(use, StepActivity::kCopy) == Approx(0.75));
  CHECK(part(use, StepActivity::kMemset) == Approx(0.75));
  CHECK(part(use, StepActivity::kCommunication) == Approx(1.5));
  CHECK(part(use, StepActivity::kRuntime) == Approx(1.5));
  CHECK(part(use, StepActivity::kLoader) == Approx(2));
  CHECK(part(use, StepActivity::kOperator) == Approx(2));
  CHECK(part(use, StepActivity::kOther) == Approx(11));
  for (const TraceStep& step : use.steps) CHECK(sum(step.parts) == Approx(step.seconds));
  CHECK(sum(use.parts) == Approx(use.analysed_s));
}

TEST_CASE("the first of four steps is left out") {
  Recording three, four;
  three.add_steps(3);
  four.add_steps(4);
  CHECK(three.reduce().steps.size() == 3);
  const TraceUse use = four.reduce();
  CHECK(use.steps.size() == 3);
  CHECK(use.analysed_s == Approx(0.03));
  CHECK(use.observed_s == Approx(0.04));
}

TEST_CASE("a step lasts until the next one begins") {
  Recording trace;
  for (int i = 0; i < 6; ++i) trace.add(TraceActivity::kPossibleStep, 10 * i, 10 * i + 6, "step");
  trace.add(TraceActivity::kPossibleStep, 1, 2, "step");      // nested
  trace.add(TraceActivity::kPossibleStep, 500, 506, "step");  // after a pause
  trace.add(TraceActivity::kPossibleStep, 510, 516, "step");
  for (int i = 0; i < 6; ++i) trace.add(TraceActivity::kLoader, 10 * i + 6, 10 * i + 9);
  const TraceUse use = trace.reduce();
  REQUIRE(use.steps.size() == 6);  // without the first and the last one
  CHECK(use.steps[0].seconds == Approx(0.01));
  CHECK(use.steps[4].seconds == Approx(0.006));  // before the pause
  CHECK(1e3 * use.idle.loader_s == Approx(12));
}

TEST_CASE("ranges of another name that contain the steps are not steps") {
  Recording trace;
  trace.add(TraceActivity::kPossibleStep, 0, 100, "train");  // an epoch
  for (int i = 0; i < 10; ++i) {
    const std::string name = "step " + std::to_string(i);
    trace.add(TraceActivity::kPossibleStep, 10 * i, 10 * i + 10.001, name.c_str());  // overlaps a little
  }
  const TraceUse use = trace.reduce();
  REQUIRE(use.steps.size() == 9);
  CHECK(use.steps[0].seconds == Approx(0.01));
}

TEST_CASE("intervals in which no device works are counted by length") {
  Recording trace;
  trace.add_steps(3);
  trace.add(TraceActivity::kKernel, 0, 5);
  trace.add(TraceActivity::kLoader, 5, 7);
  trace.add(TraceActivity::kKernel, 8, 8.999);  // gaps: 3 ms, 1 us, 15 ms across a step, 2 ms at the end
  trace.add(TraceActivity::kCopy, 9, 10);
  trace.add(TraceActivity::kKernel, 25, 28);
  const IdleGaps gaps = trace.reduce().gaps;
  const auto count_of = [&](double seconds) {
    return gaps.count[static_cast<std::size_t>(std::upper_bound(kGapEnds.begin(), kGapEnds.end(), seconds) -
                                               kGapEnds.begin())];
  };
  CHECK(std::accumulate(gaps.count.begin(), gaps.count.end(), std::int64_t{0}) == 4);
  CHECK(std::accumulate(gaps.seconds.begin(), gaps.seconds.end(), 0.0) == Approx(0.020001));
  CHECK(count_of(1e-6) == 1);
  CHECK(count_of(0.002) + count_of(0.003) == 2);
  CHECK(count_of(0.015) == 1);

  Recording host_only;
  host_only.add_steps(3);
  host_only.add(TraceActivity::kLoader, 1, 5);
  CHECK(host_only.reduce().gaps.count == IdleGaps{}.count);
}

TEST_CASE("a trace without steps is analysed as a whole") {
  Recording trace;
  trace.add(TraceActivity::kKernel, 5, 10);
  trace.add(TraceActivity::kLaunch, 4, 4.5);
  const TraceUse use = trace.reduce();
  CHECK(use.steps.empty());
  CHECK(use.analysed_s == Approx(0.006));
  CHECK(sum(use.parts) == Approx(0.006));
  REQUIRE(use.devices.size() == 1);
  CHECK(use.devices[0].busy_s == Approx(0.005));
}

TEST_CASE("idle time has one cause") {
  Recording trace;
  trace.add_steps(2);
  trace.add(TraceActivity::kKernel, 0, 2);
  trace.add(TraceActivity::kSynchronisation, 1, 2.01);  // ends after the kernel
  trace.add(TraceActivity::kLaunch, 2.5, 2.6);          // idle until 3 because of it
  trace.add(TraceActivity::kKernel, 3, 4);
  trace.add(TraceActivity::kLaunch, 4.2, 4.3);  // idle until 5 because of launches
  trace.add(TraceActivity::kKernel, 5, 6);
  trace.add(TraceActivity::kLoader, 5.5, 8);
  trace.add(TraceActivity::kAllocation, 8, 8.5);
  trace.add(TraceActivity::kKernel, 9, 10);
  trace.add(TraceActivity::kCheckpoint, 10, 14);
  trace.add(TraceActivity::kLogging, 14, 15);
  trace.add(TraceActivity::kKernel, 15, 20);
  const TraceUse use = trace.reduce();
  CHECK(1e3 * use.idle.synchronisation_s == Approx(1));
  CHECK(1e3 * use.idle.loader_s == Approx(2));
  CHECK(1e3 * use.idle.allocation_s == Approx(0.5));
  CHECK(1e3 * use.idle.launch_s == Approx(1 + 0.5));
  CHECK(1e3 * use.idle.checkpoint_s == Approx(4));
  CHECK(1e3 * use.idle.logging_s == Approx(1));
  CHECK(use.runtime.synchronisations.count == 1);
  CHECK(use.runtime.allocations.count == 1);
  CHECK(use.runtime.launches.count == 2);
}

TEST_CASE("a small read of the result is a synchronisation") {
  Recording trace;
  trace.add_steps(2);
  trace.add(TraceActivity::kKernel, 0, 2);
  trace.add(TraceActivity::kCopy, 2, 2.1).direction = CopyDirection::kToHost;
  trace.add(TraceActivity::kCopyCall, 1, 2.2);
  trace.add(TraceActivity::kKernel, 4, 20);
  const IdleUse idle = trace.reduce().idle;
  CHECK(1e3 * idle.synchronisation_s == Approx(1.2));  // as long as the host waited, of 1.9
  CHECK(1e3 * idle.launch_s == Approx(0.7));
}

TEST_CASE("what the host does after a synchronisation has another cause") {
  Recording trace;
  trace.add(TraceActivity::kStep, 0, 104, "ProfilerStep");
  trace.add(TraceActivity::kStep, 104, 208, "ProfilerStep");
  for (const double begin : {0, 104}) {
    trace.add(TraceActivity::kLaunch, begin, begin + 0.1);
    trace.add(TraceActivity::kKernel, begin, begin + 4);
    trace.add(TraceActivity::kSynchronisation, begin + 0.1, begin + 4.1);
    trace.add(TraceActivity::kOperator, begin + 4.1, begin + 104, "aten::grid_sampler_2d");
  }
  const TraceUse use = trace.reduce();
  CHECK(1e3 * use.idle.synchronisation_s == Approx(2 * 4.0).margin(0.3));
  CHECK(1e3 * use.idle.launch_s == Approx(2 * 96.0).margin(0.3));
}

TEST_CASE("without a device, the main thread counts") {
  Recording trace;
  trace.add_steps(2);
  trace.add(TraceActivity::kOperator, 0, 12, "aten::conv2d");
  trace.add(TraceActivity::kLoader, 12, 18, "enumerate(DataLoader)");
  trace.add(TraceActivity::kLoader, 0, 10, "in another thread", "other");
  const TraceUse use = trace.reduce();
  CHECK(1e3 * use.idle.loader_s == Approx(6));
  CHECK(use.idle.launch_s == 0);
  CHECK(use.loader == "enumerate(DataLoader)");
  CHECK(use.devices.empty());
}

TEST_CASE("the range of the DataLoader names it, not the Python function around it") {
  Recording trace;
  trace.add_steps(2);
  trace.add(TraceActivity::kLoader, 0, 6, "torch/utils/data/dataloader.py(720): __next__");
  trace.add(TraceActivity::kLoader, 1, 5, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  trace.add(TraceActivity::kLoader, 10, 14, "torch/utils/data/dataloader.py(720): __next__");
  CHECK(trace.reduce().loader == "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
}

TEST_CASE("calls count in threads that launch kernels") {
  Recording trace;
  trace.add_steps(2);
  trace.add(TraceActivity::kLaunch, 1, 2, "cudaLaunchKernel", "autograd");
  trace.add(TraceActivity::kSynchronisation, 2, 3, "cudaStreamSynchronize", "autograd");
  trace.add(TraceActivity::kSynchronisation, 4, 9, "cudaEventSynchronize", "pin memory");
  trace.add(TraceActivity::kKernel, 2, 3);
  const TraceUse use = trace.reduce();
  CHECK(use.runtime.synchronisations.count == 1);
  CHECK(part(use, StepActivity::kRuntime) == Approx(1));
}

TEST_CASE("copies by direction and memory") {
  Recording trace;
  trace.add_steps(2);
  trace.add(TraceActivity::kKernel, 0, 4);
  const auto add = [&](double begin, double end, CopyDirection direction, MemoryKind memory, std::uint64_t bytes) {
    TraceEvent& copy = trace.add(TraceActivity::kCopy, begin, end);
    copy.direction = direction;
    copy.host_memory = memory;
    copy.bytes = bytes;
  };
  add(3, 6, CopyDirection::kToDevice, MemoryKind::kPageable, 1'000'000);
  add(6, 7, CopyDirection::kToDevice, MemoryKind::kPageable, 100);
  add(8, 9, CopyDirection::kToHost, MemoryKind::kPinned, 4);
  const TraceUse use = trace.reduce();
  REQUIRE(use.copies.size() == 2);
  const CopyUse& pageable = use.copies[0];
  CHECK(pageable.direction == CopyDirection::kToDevice);
  CHECK(pageable.host_memory == MemoryKind::kPageable);
  CHECK(pageable.count == 2);
  CHECK(pageable.tiny == 1);
  CHECK(pageable.bytes == 1'000'100);
  CHECK(1e3 * pageable.seconds == Approx(4));
  CHECK(1e3 * pageable.overlapped_s == Approx(1));
}

TEST_CASE("operators by the time without those that they call") {
  Recording trace;
  trace.add_steps(2);
  trace.add(TraceActivity::kOperator, 0, 10, "aten::conv2d");
  trace.add(TraceActivity::kOperator, 1, 9, "aten::mkldnn_convolution");
  trace.add(TraceActivity::kOperator, 2, 3, "aten::empty");
  trace.add(TraceActivity::kOperator, 11, 12, "aten::empty");
  trace.add(TraceActivity::kOperator, 0, 5, "aten::add", "other");
  const TraceUse use = trace.reduce();
  REQUIRE(use.operators.size() == 4);
  CHECK(use.operators[0].name == "aten::mkldnn_convolution");
  CHECK(1e3 * use.operators[0].seconds == Approx(7));
  CHECK(1e3 * use.operators[1].seconds == Approx(5));
  for (const NamedTime& entry : use.operators) {
    if (entry.name == "aten::empty") CHECK(entry.count == 2);
    if (entry.name == "aten::conv2d") CHECK(1e3 * entry.seconds == Approx(2));
  }
}

TEST_CASE("devices: time with a kernel, and tensor cores") {
  Recording trace;
  trace.add_steps(2);
  trace.add(TraceActivity::kKernel, 0, 6, "ampere_sgemm_128x64_tn");
  trace.add(TraceActivity::kKernel, 4, 8, "ampere_bf16_s16816gemm_bf16", "stream 2");
  trace.add(TraceActivity::kCollective, 7, 9, "ncclDevKernel_AllReduce", "stream 3");
  trace.events().device(0)->name = "A100";
  trace.events().device(1)->name = "unused";
  const TraceUse use = trace.reduce();
  REQUIRE(use.devices.size() == 1);
  const DeviceUse& device = use.devices[0];
  CHECK(device.name == "A100");
  CHECK(1e3 * device.busy_s == Approx(9));
  CHECK(1e3 * device.kernel_s == Approx(10));
  CHECK(1e3 * device.matrix_s == Approx(10));
  CHECK(1e3 * device.tensor_core_s == Approx(4));
  CHECK(1e3 * device.collective_s == Approx(2));
  CHECK(use.runtime.kernels == 2);
  CHECK(use.kernels[0].name == "ampere_sgemm_128x64_tn");
}

TEST_CASE("events that are left out are counted") {
  Recording trace(10);
  for (int i = 0; i < 15; ++i) trace.add(TraceActivity::kKernel, i, i + 1);
  const TraceUse use = trace.reduce();
  CHECK(use.events == 10);
  CHECK(use.left_out == 5);
}

}  // namespace
}  // namespace unstarve
