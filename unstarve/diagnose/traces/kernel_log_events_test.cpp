#include "unstarve/diagnose/traces/kernel_log_events.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/cupti/cupti_api.h"
#include "unstarve/diagnose/traces/kernel_log_fixture.h"
#include "unstarve/diagnose/traces/reduce.h"

namespace unstarve {
namespace {

constexpr std::int64_t kCuptiSecond = 1'000'000'000, kCuptiMs = 1'000'000;

// Two windows of 100 ms with nine seconds between them. Steps of 10 ms: a pageable copy of 4 ms, three kernels.
LogBytes two_windows() {
  LogBytes log;
  for (const auto& [number, name] : std::vector<std::pair<std::uint32_t, const char*>>{
           {1, "_Z4gemmPKfS0_Pf"}, {2, "relu"}, {3, "sgd"}, {4, "cudaLaunchKernel_v7000"}, {5, "cuLaunchKernel"}})
    log.text(KernelLogKind::kName, number, name);
  for (const double begin : {1000.0, 10'000.0}) {
    log.begin(begin, begin - 500);
    log.end(begin + 100);  // records arrive after the end
    for (int step = -1; step < 11; ++step) {
      const double time = begin + 3 + 10 * step;
      log.copy(1, time, time + 4);
      for (std::uint32_t name = 1; name <= 3; ++name) {
        log.call(5, time + 4.001 + name, time + 4.008 + name);  // of the driver, in that of the runtime
        log.call(4, time + 4 + name, time + 4.01 + name);
        log.kernel(name, time + 4.01 + name, time + 4.9 + name);
      }
    }
  }
  return log;
}

TEST_CASE("windows of kernels, copies and calls") {
  LogBytes log = two_windows();
  TraceEvents events;
  const KernelLogFacts facts = read_kernel_log(log.bytes(), "x", events);
  CHECK(facts.process == 4711);
  CHECK(facts.message.empty());
  REQUIRE(facts.windows.size() == 2);
  CHECK(facts.windows[1].time.begin == 10 * kCuptiSecond);
  CHECK(facts.windows[1].time.end == 10 * kCuptiSecond + 100 * kCuptiMs);
  CHECK(facts.windows[1].monotonic_ns == 9500 * kCuptiMs);
  const TraceUse use = reduce_trace(events);
  CHECK(use.format == "CUPTI");
  CHECK(use.steps.empty());
  CHECK(use.observed_s == Approx(0.2));
  CHECK(use.analysed_s == Approx(0.2));  // not the time between the windows
  CHECK(use.parts[static_cast<std::size_t>(StepActivity::kKernel)] == Approx(0.2 * 3 * 0.89 / 10).margin(0.003));
  CHECK(std::any_of(use.kernels.begin(), use.kernels.end(),
                    [](const NamedTime& kernel) { return kernel.name == "gemm(float const*, float const*, float*)"; }));
  CHECK(use.runtime.launches.count == use.runtime.kernels);  // those of the driver do not count again
  REQUIRE(use.copies.size() == 1);
  CHECK(use.copies[0].direction == CopyDirection::kToDevice);
  CHECK(use.copies[0].host_memory == MemoryKind::kPageable);
}

TEST_CASE("steps by the kernels") {
  LogBytes log = two_windows();
  TraceEvents events;
  const KernelLogFacts facts = read_kernel_log(log.bytes(), "x", events);
  REQUIRE(add_steps_by_kernels(facts, events));
  const TraceUse use = reduce_trace(events);
  CHECK(use.steps.size() >= 15);
  for (const TraceStep& step : use.steps) CHECK(step.seconds == Approx(0.01));
  CHECK(use.analysed_s == Approx(0.01 * static_cast<double>(use.steps.size())));
}

TEST_CASE("steps that the program marks") {
  LogBytes log = two_windows();
  TraceEvents events;
  const KernelLogFacts facts = read_kernel_log(log.bytes(), "x", events);
  std::vector<double> times;
  for (int i = 0; i < 1200; ++i) times.push_back(0.002 + 0.01 * i);
  REQUIRE(add_marked_steps(facts, times, events));
  const TraceUse use = reduce_trace(events);
  CHECK(use.steps.size() == 17);  // 9 in each window, without the first one
  CHECK(use.analysed_s == Approx(0.17));
  TraceEvents others;
  CHECK_FALSE(add_marked_steps(facts, std::vector<double>{3, 3.01}, others));
}

// As above, with ranges: every step loads for 3 ms. Kernels are in random order.
LogBytes with_ranges(bool lost = false) {
  LogBytes log;
  log.text(KernelLogKind::kName, 1, "gemm");
  log.text(KernelLogKind::kName, kFirstRangeName, "step 12");
  log.text(KernelLogKind::kName, kFirstRangeName + 1, "load_batch");
  log.text(KernelLogKind::kName, kFirstRangeName + 2, "forward");
  for (const double begin : {1000.0, 10'000.0}) {
    log.begin(begin, begin - 500);
    for (int step = 0; step < 9; ++step) {
      const double time = begin - 500 + 2 + 10 * step;
      log.range(1, time, time + 3);
      log.range(2, time + 3, time + 9);
      log.range(0, time, time + 9.5);
      log.kernel(1, time + 504, time + 509);
    }
    log.range(0, begin - 500 - 5, begin - 500 + 1);  // not within the window
    log.end(begin + 100, lost);
  }
  return log;
}

TEST_CASE("steps and the loader by ranges") {
  LogBytes log = with_ranges();
  TraceEvents events;
  KernelLogFacts facts = read_kernel_log(log.bytes(), "x", events);
  REQUIRE(facts.windows.size() == 2);
  CHECK_FALSE(add_steps_by_kernels(facts, events));
  const StepUse steps = steps_by_ranges(facts);
  CHECK(steps.source == "NVTX ranges");
  CHECK(steps.rate == Approx(100).epsilon(0.01));
  CHECK(steps.seconds.size() == 16);  // 9 in each window, without the first and the last
  const TraceUse use = reduce_trace(events);
  REQUIRE(use.steps.size() == 16);
  CHECK(use.steps[1].seconds == Approx(0.01));
  CHECK(use.parts[static_cast<std::size_t>(StepActivity::kKernel)] == Approx(16 * 0.005).epsilon(0.01));
  CHECK(use.parts[static_cast<std::size_t>(StepActivity::kLoader)] == Approx(16 * 0.003).epsilon(0.01));
}

TEST_CASE("steps that the program marks count more than ranges") {
  LogBytes log = with_ranges();
  TraceEvents events;
  const KernelLogFacts facts = read_kernel_log(log.bytes(), "x", events);
  std::vector<double> times;
  for (int i = 0; i < 600; ++i) times.push_back(0.002 + 0.02 * i);
  REQUIRE(add_marked_steps(facts, times, events));
  const TraceUse use = reduce_trace(events);
  REQUIRE(!use.steps.empty());
  for (const TraceStep& step : use.steps) CHECK(step.seconds == Approx(0.02));
}

TEST_CASE("a window of which ranges were lost has none") {
  LogBytes log = with_ranges(true);
  TraceEvents events;
  KernelLogFacts facts = read_kernel_log(log.bytes(), "x", events);
  CHECK(facts.kernels == 18);
  CHECK(steps_by_ranges(facts).source.empty());
  CHECK(reduce_trace(events).steps.empty());
}

TEST_CASE("ranges of a program without CUDA") {
  LogBytes log;
  log.text(KernelLogKind::kName, kFirstRangeName, "train_step");
  for (const double begin : {1000.0, 10'000.0}) {
    log.begin(begin, begin, true);
    for (int step = 0; step < 5; ++step) log.range(0, begin + 10 * step, begin + 10 * step + 8);
    log.end(begin + 100);
  }
  log.begin(20'000, 20'000, true);
  log.range(0, 20'010, 20'018);  // killed
  log.range(0, 20'020, 20'028);
  TraceEvents events;
  KernelLogFacts facts = read_kernel_log(log.bytes(), "x", events);
  CHECK(facts.windows.empty());
  CHECK(events.events().empty());
  const StepUse steps = steps_by_ranges(facts);
  CHECK(steps.seconds.size() == 10);  // without the first and the last
  CHECK(std::count_if(steps.seconds.begin(), steps.seconds.end(), [](double s) { return s == Approx(0.01); }) == 8);
}

TEST_CASE("device memory of the steps") {
  LogBytes log = two_windows();
  std::uint64_t kept = 0x9000;
  log.memory(kMemoryAllocated, 0x500, 700, 500);  // before the first window
  for (const double begin : {1000.0, 10'000.0}) {
    for (int step = 0; step < 10; ++step) {
      const double time = begin + 3 + 10 * step;
      log.memory(kMemoryReleased, 0x1000, 0, time + 8);  // records of one window have any order
      log.memory(kMemoryAllocated, 0x1000, 5000, time + 1);
      log.memory(kMemoryAllocated, kept++, 100, time + 2);
      log.memory(kMemoryAllocated, 0x7000, 1'000'000, time + 3, 2);  // pinned memory of the host
    }
  }
  TraceEvents events;
  const KernelLogFacts facts = read_kernel_log(log.bytes(), "x", events);
  std::vector<double> ends;  // of CLOCK_MONOTONIC, half a second earlier
  for (const double begin : {1000.0, 10'000.0})
    for (int step = 0; step < 10; ++step) ends.push_back(1e-3 * (begin - 500 + 3 + 10 * step));
  REQUIRE(add_marked_steps(facts, ends, events));
  const TraceUse trace = reduce_trace(events);
  const MemoryUse& memory = trace.memory;
  const auto steps = static_cast<std::int64_t>(trace.steps.size());
  REQUIRE(steps == 17);  // without the first
  CHECK(memory.allocations == 2 * steps);
  CHECK(memory.releases == steps);
  CHECK(memory.allocated_bytes == 5100 * steps);
  CHECK(memory.growth_bytes == Approx(100));
  REQUIRE(memory.levels.size() == trace.steps.size());
  CHECK(memory.levels[0] == 5200);
  CHECK(memory.levels[1] == 5300);
  CHECK(memory.levels[8] == 5100);  // the second window begins again
  CHECK(memory.peak_bytes == 5900);
  CHECK(trace.pinned.allocations == steps);
  CHECK(trace.pinned.allocated_bytes == 1'000'000 * steps);
  CHECK(trace.pinned.levels.size() == trace.steps.size());

  // The same by kernels, whose steps begin between allocations and releases.
  TraceEvents by_kernels;
  REQUIRE(add_steps_by_kernels(read_kernel_log(log.bytes(), "x", by_kernels), by_kernels));
  CHECK(reduce_trace(by_kernels).memory.peak_bytes >= 5900);

  LogBytes other = two_windows();  // a release of what was allocated before, and steps that are unknown
  other.memory(kMemoryReleased, 0x500, 700, 1020);
  other.memory(kMemoryAllocated, 0x600, 300, 1030);
  TraceEvents without_steps;
  (void)read_kernel_log(other.bytes(), "x", without_steps);
  const MemoryUse rest = reduce_trace(without_steps).memory;
  CHECK(rest.releases == 1);
  CHECK(rest.allocations == 1);
  CHECK(rest.peak_bytes == 700);  // more than the least
  CHECK(rest.growth_bytes == 0);
  CHECK(rest.levels.empty());
}

// A step of MobileNetV2 with a small batch: 17 blocks forward and backward, each with kernels of its own shapes, those
// that all blocks share, and a second stream whose kernels begin a little earlier or later.
std::vector<std::uint32_t> kernels_of_small_step() {
  std::vector<std::uint32_t> kernels;
  for (const int direction : {0, 1}) {
    for (std::uint32_t block = 0; block < 17; ++block)
      for (std::uint32_t i = 0; i < (direction == 0 ? 25u : 48u); ++i)
        kernels.push_back(i % 3 != 0 ? 10 + i % 7 : 100 + 20 * (block / 3) + i % 20);  // shapes change with the stage
    for (std::uint32_t i = 0; i < 8; ++i) kernels.push_back(30 + 8 * static_cast<std::uint32_t>(direction) + i);
  }
  for (int i = 0; i < 50; ++i) kernels.push_back(50);  // the optimiser
  return kernels;
}

TEST_CASE("steps of 1300 short kernels after a long search for algorithms") {
  const std::vector<std::uint32_t> step = kernels_of_small_step();
  CHECK(step.size() == 1307);
  std::mt19937 random(11);
  const auto jitter = [&] { return 1e-3 * static_cast<double>(random() % 8); };  // up to 7 us
  LogBytes log;
  for (std::uint32_t name = 0; name < 410; ++name)
    log.text(KernelLogKind::kName, name, "kernel" + std::to_string(name));
  for (int window = 1; window <= 7; ++window) {
    const bool searches = window <= 4;
    const double begin = 5000 * window;
    log.begin(begin, begin);
    const double length = 29.0 / static_cast<double>(step.size());  // between launches
    std::size_t position = random() % step.size();
    for (double time = begin + 0.1; time < begin + 999; time += length) {
      const auto name = searches ? static_cast<std::uint32_t>(10 + random() % 400) : step[position++ % step.size()];
      const double at = time + jitter();
      log.kernel(name, at, at + 0.002);
      if (!searches && position % 40 == 0) {
        const double other = time + 3 * jitter() - 0.01;
        log.add({.kind = KernelLogKind::kKernel,
                 .name = 5,
                 .begin_ns = static_cast<std::int64_t>(1e6 * other),
                 .end_ns = static_cast<std::int64_t>(1e6 * (other + 0.002)),
                 .lane = 8});
      }
    }
    log.end(begin + 1000);
  }
  TraceEvents events;
  const KernelLogFacts facts = read_kernel_log(log.bytes(), "x", events);
  REQUIRE(add_steps_by_kernels(facts, events));
  const TraceUse use = reduce_trace(events);
  CHECK(use.steps.size() >= 95);
  CHECK(use.steps.size() <= 102);
  // A kernel of the other stream may hide where a step begins.
  CHECK(std::count_if(use.steps.begin(), use.steps.end(), [](const TraceStep& one) {
          return one.seconds == Approx(0.029).epsilon(0.01);
        }) >= static_cast<std::int64_t>(use.steps.size()) - 3);
  CHECK(first_step_s(facts, events) == Approx(25.03).margin(0.06));
}

TEST_CASE("page faults of unified memory") {
  LogBytes log = two_windows();
  log.unified(kCuptiUnifiedGpuFault, 4, 1010, 1015);
  log.unified(kCuptiUnifiedGpuFault, 2, 1012, 1020);  // of another device
  log.unified(kCuptiUnifiedThrottling, 1, 1018, 1022);
  log.unified(kCuptiUnifiedCpuFault, 1, 10'030, 10'030);
  log.unified(kCuptiUnifiedThrashing, 1, 10'031, 10'031);
  log.unified(7, 1, 10'032, 10'032);                                  // mapped without a copy
  log.unified(kCuptiUnifiedGpuFault, 100, 5000, 5500);                // outside of the windows
  log.unified(kCuptiUnifiedGpuFault, ~std::uint64_t{0}, 1030, 1030);  // a damaged record
  TraceEvents events;
  (void)read_kernel_log(log.bytes(), "x", events);
  const UnifiedMemoryUse unified = reduce_trace(events).unified;
  CHECK(unified.gpu_faults == 6 + (std::int64_t{1} << 32));
  CHECK(unified.cpu_faults == 1);
  CHECK(unified.thrashing == 1);
  CHECK(unified.gpu_fault_s == Approx(0.013));
  CHECK(unified.throttled_s == Approx(0.004));
  CHECK(unified.stalled_s == Approx(0.012));
  TraceEvents without;
  (void)read_kernel_log(two_windows().bytes(), "x", without);
  CHECK_FALSE(reduce_trace(without).unified.used());
}

TEST_CASE("devices that the log describes") {
  LogBytes log = two_windows();
  for (const std::uint8_t device : {std::uint8_t{0}, std::uint8_t{1}})
    log.text({.kind = KernelLogKind::kDevice, .detail = 90, .device = device, .lane = 80'000}, "0000:4A:00.0 H100");
  TraceEvents events;
  const KernelLogFacts facts = read_kernel_log(log.bytes(), "x", events);
  CHECK(facts.pci_addresses.at(0) == "0000:4a:00.0");
  const TraceUse use = reduce_trace(events);
  REQUIRE(use.devices.size() == 1);  // the other one does nothing
  CHECK(use.devices[0].name == "H100");
  CHECK(use.devices[0].compute_capability == Approx(9.0));
  CHECK(use.devices[0].memory_bytes == 80'000);
}

TEST_CASE("time that CUPTI itself takes") {
  LogBytes log = two_windows();
  log.overhead(2, 1010, 1015);
  log.overhead(1, 1020, 1080);  // buffers are flushed, by the thread that records
  log.overhead(5, 1020, 1080);  // the program's own: a function is loaded
  log.overhead(3, 5000, 5500);  // outside of the windows
  TraceEvents events;
  (void)read_kernel_log(log.bytes(), "x", events);
  CHECK(reduce_trace(events).overhead_s == Approx(0.005));
  CHECK(reduce_trace(events).runtime.module_loading_s == Approx(0.06));
  // With steps, only that within them: from 1012 ms.
  LogBytes early = two_windows();
  early.overhead(2, 1000, 1035);
  TraceEvents marked;
  const KernelLogFacts marked_facts = read_kernel_log(early.bytes(), "x", marked);
  REQUIRE(add_marked_steps(marked_facts, std::vector<double>{0.512, 0.522, 0.532, 0.542}, marked));
  const TraceUse use = reduce_trace(marked);
  CHECK(use.analysed_s == Approx(0.03));
  CHECK(use.overhead_s == Approx(0.023));
}

TEST_CASE("steps in windows are longer than others if recording is expensive") {
  LogBytes log = two_windows();
  TraceEvents events;
  const KernelLogFacts facts = read_kernel_log(log.bytes(), "x", events);
  std::vector<double> times{0};
  while (times.back() < 12) {
    const double time = times.back();
    const bool recorded = (time >= 0.5 && time < 0.6) || (time >= 9.5 && time < 9.6);
    times.push_back(time + (recorded ? 0.01 : 0.008));
  }
  CHECK(cost_of_recording(facts, times) == Approx(0.2));
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = 0.01 * static_cast<double>(i);
  CHECK(cost_of_recording(facts, times) == Approx(0).margin(1e-9));
  CHECK(cost_of_recording(facts, std::vector<double>{1, 2, 3}) == 0);
}

TEST_CASE("a process that is killed in a window, and one that could not record") {
  LogBytes log;
  log.text(KernelLogKind::kName, 1, "gemm");
  log.begin(500, 0);
  log.kernel(1, 510, 520);
  log.end(600);
  log.begin(1000, 0);
  log.kernel(1, 1010, 1020);
  log.kernel(1, 1030, 1050);
  log.bytes().resize(log.bytes().size() - 3);  // within an entry
  TraceEvents events;
  KernelLogFacts facts = read_kernel_log(log.bytes(), "x", events);
  REQUIRE(facts.windows.size() == 1);  // the other one has no end
  CHECK(facts.windows[0].time.end == 600 * kCuptiMs);
  CHECK(facts.kernels == 1);
  LogBytes other;
  other.text(KernelLogKind::kMessage, 0, "cuptiSubscribe: error");
  TraceEvents none;
  facts = read_kernel_log(other.bytes(), "x", none);
  CHECK(facts.message == "cuptiSubscribe: error");
  CHECK(facts.windows.empty());
  CHECK(reduce_trace(none).analysed_s == 0);
}

TEST_CASE("files that are damaged") {
  // Any bytes are read or rejected, and any length is.
  LogBytes log = two_windows(), ranges = with_ranges();
  for (std::size_t size = 0; size < log.bytes().size(); size += 13) {
    TraceEvents some;
    if (size < sizeof(KernelLogHeader))
      CHECK_THROWS_AS(read_kernel_log({log.bytes().data(), size}, "x", some), Error);
    else
      CHECK_NOTHROW(read_kernel_log({log.bytes().data(), size}, "x", some));
  }
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::uint8_t> bytes = i % 2 == 0 ? log.bytes() : ranges.bytes();
    for (int change = 0; change < 5; ++change) bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    TraceEvents some;
    try {
      KernelLogFacts facts = read_kernel_log(bytes, "x", some);
      (void)steps_by_ranges(facts);
      (void)add_steps_by_kernels(facts, some);
      (void)reduce_trace(some);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
    }
  }
}

}  // namespace
}  // namespace unstarve
