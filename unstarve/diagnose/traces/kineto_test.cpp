#include "unstarve/diagnose/traces/kineto.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/traces/reduce.h"

namespace unstarve {
namespace {

using Catch::Contains;

TraceEvents read_events(const std::string& text) {
  bool delivered = false;
  JsonPull json(
      [&]() -> std::span<const std::uint8_t> {
        if (std::exchange(delivered, true)) return {};
        return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
      },
      "x.json");
  TraceEvents events;
  read_kineto(json, "x.json", events);
  return events;
}

std::string kineto_text(const std::string& events, const std::string& others = "") {
  return R"~({"schemaVersion": 1, )~" + others + R"~("traceEvents": [)~" + events + "]}";
}

std::vector<TraceActivity> activities(TraceEvents events) {
  std::vector<TraceActivity> list;
  for (const TraceEvent& event : events.events()) list.push_back(event.activity);
  return list;
}

TEST_CASE("a kernel, with its device") {
  TraceEvents events = read_events(kineto_text(
      R"~({"ph": "X", "cat": "kernel", "name": "ampere_sgemm", "pid": 1, "tid": 7, "ts": 1000.5, "dur": 2.25,
          "args": {"External id": 5, "queued": 0, "device": 1, "context": 1, "stream": 7, "correlation": 9,
                   "grid": [1, 2, 3], "est. achieved occupancy %": 20}})~",
      R"~("deviceProperties": [{"id": 1, "name": "NVIDIA A100", "totalGlobalMem": 80000000000, "computeMajor": 8,
          "computeMinor": 6, "maxThreadsPerBlock": 1024}], )~"));
  REQUIRE(events.events().size() == 1);
  const TraceEvent& kernel = events.events()[0];
  CHECK(kernel.begin_ns == 1'000'500);
  CHECK(kernel.end_ns == 1'002'750);
  CHECK(kernel.device == 1);
  CHECK(events.name(kernel.name) == "ampere_sgemm");
  CHECK(events.devices().at(1).name == "NVIDIA A100");
  CHECK(events.devices().at(1).memory_bytes == 80'000'000'000);
  CHECK(events.devices().at(1).compute_capability == Approx(8.6));
}

TEST_CASE("events of the host") {
  const char* const kEvents = R"~(
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 0, "dur": 9},
    {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#3", "pid": 0, "tid": 7, "ts": 0, "dur": 9},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"x": [[1], {}]}},
    {"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
     "pid": 1, "tid": 1, "ts": 2, "dur": 1},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 3, "dur": 1,
     "args": {"correlation": 3}},
    {"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernel", "pid": 1, "tid": 1, "ts": 4, "dur": 1},
    {"ph": "X", "cat": "python_function", "name": "torch/serialization.py(944): save", "pid": 1, "tid": 1, "ts": 5,
     "dur": 1},
    {"ph": "X", "cat": "python_function", "name": "train.py(3): f", "pid": 1, "tid": 1, "ts": 5, "dur": 1},
    {"ph": "X", "cat": "overhead", "name": "Instrumentation", "pid": -1, "tid": 0, "ts": 6, "dur": 1},
    {"ph": "X", "cat": "overhead", "name": "Lazy Function Loading", "pid": -1, "tid": 0, "ts": 6, "dur": 1},
    {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 3, "pid": 1, "tid": 1, "ts": 3},
    {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 0,
     "dur": 99},
    {"name": "process_name", "ph": "M", "ts": 0, "pid": 1, "tid": 0, "args": {"name": "python"}})~";
  CHECK(activities(read_events(kineto_text(kEvents))) ==
        std::vector<TraceActivity>{TraceActivity::kStep, TraceActivity::kOperator, TraceActivity::kLoader,
                                   TraceActivity::kLaunch, TraceActivity::kLaunch, TraceActivity::kCheckpoint,
                                   TraceActivity::kOverhead});
}

TEST_CASE("events with impossible times are left out, and named") {
  TraceEvents events = read_events(kineto_text(R"~(
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": "abc", "dur": 1},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 2, "dur": -5},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 2, "dur": 1e15},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "dur": 1},
    {"ph": "X", "cat": "Trace", "name": "other", "pid": 1, "tid": 1},
    {"ph": "X", "cat": "cpu_op", "name": "aten::far", "pid": 1, "tid": 1, "ts": 1e12, "dur": 1})~"));
  CHECK(events.malformed.examples ==
        std::vector<std::string>{"event 1: ts: found \"abc\"; expected a number of microseconds",
                                 "event 2: dur: found -5 us; expected 0 to 8.64e+10 us, a day",
                                 "event 3: dur: found 1e+15 us; expected 0 to 8.64e+10 us, a day",
                                 "event 4: ts: found nothing; expected a number of microseconds"});
  REQUIRE(events.events().size() == 2);
  events.add(events.events()[0]);
  events.reject_outliers();
  CHECK(events.events().size() == 2);
  CHECK(events.malformed.count == 5);
  CHECK_THAT(
      events.malformed.examples[4],
      Contains("event \"aten::far\": found 1000000 to 1000000 s; expected times within a day of the other events"));
  CHECK(reduce_trace(events).malformed.count == 5);
}

TEST_CASE("copies, memsets and collectives of a device") {
  TraceEvents events = read_events(kineto_text(R"~(
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": 0, "dur": 9,
     "args": {
  "device" : 0, "stream" : 7, "correlation" : 1, "bytes" : 4096, "memory bandwidth (GB/s)" : 1.5}},
    {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 7, "ts": 9, "dur": 1,
     "args": {"device": 0, "bytes": 512}},
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 20, "ts": 3,
     "dur": 1, "args": {"device": 0, "stream": 20}})~"));
  CHECK(activities(events) ==
        std::vector<TraceActivity>{TraceActivity::kCopy, TraceActivity::kMemset, TraceActivity::kCollective});
  CHECK(events.events()[0].bytes == 4096);
  CHECK(events.events()[0].host_memory == MemoryKind::kPageable);
  CHECK(events.events()[0].direction == CopyDirection::kToDevice);
}

TEST_CASE("without steps, the thread of the loader is the main thread, not that of gradients") {
  std::string text;
  for (int i = 0; i < 8; ++i)
    text += R"~({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": )~" +
            std::to_string(60 + 5 * i) + R"~(, "dur": 4}, )~";
  text += R"~({"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 1, "ts": 50, "dur": 9})~";
  TraceEvents events = read_events(kineto_text(text + R"~(, {"ph": "X", "cat": "user_annotation",
                  "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "pid": 1, "tid": 1, "ts": 0,
                  "dur": 50})~"));
  const TraceUse use = reduce_trace(events);
  CHECK(use.idle.loader_s == Approx(50e-6));
  CHECK(use.loader == "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
}

TEST_CASE("without steps, a thread that saves or loads in the background is not the main thread") {
  TraceEvents events = read_events(kineto_text(R"~(
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 20},
    {"ph": "X", "cat": "user_annotation", "name": "save_checkpoint", "pid": 1, "tid": 2, "ts": 5, "dur": 90},
    {"ph": "X", "cat": "user_annotation", "pid": 1, "tid": 2, "ts": 95, "dur": 5,
     "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"})~"));
  const TraceUse use = reduce_trace(events);
  CHECK(use.idle.loader_s == 0);
  CHECK(use.idle.checkpoint_s == 0);
}

TEST_CASE("the categories of PyTorch 1.8") {
  CHECK(activities(read_events(kineto_text(R"~(
    {"ph": "X", "cat": "Operator", "name": "ProfilerStep#1", "pid": 13721, "tid": "123", "ts": 50, "dur": 400,
     "args": {"Input Dims": [], "External id": 1}},
    {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": "stream 7", "ts": 405,
     "dur": 10, "args": {
  "stream" : 7, "correlation" : 334, "external id" : 4}},
    {"ph": "X", "cat": "Runtime", "name": "cudaMemcpyAsync", "pid": 13721, "tid": "456", "ts": 360, "dur": 20,
     "args": {"correlation": 334, "external id": 4}})~"))) ==
        std::vector<TraceActivity>{TraceActivity::kStep, TraceActivity::kCopy, TraceActivity::kCopyCall});
}

TEST_CASE("memory and images") {
  const TraceEvents events = read_events(kineto_text(R"~(
    {"ph": "X", "cat": "cpu_op", "name": "aten::copy_", "pid": 1, "tid": 1, "ts": 0, "dur": 5, "args":
     {"External id": 11, "Input Dims": [[32, 3, 224, 224], [32, 3, 224, 224], []],
      "Input type": ["float", "float", "Scalar"]}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::copy_", "pid": 1, "tid": 1, "ts": 6, "dur": 5, "args":
     {"External id": 12, "Input Dims": [[32], [32], []], "Input type": ["long int", "long int", "Scalar"]}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 2, "dur": 9,
     "args": {
  "External id" : 11, "device" : 0, "bytes" : 19267584}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 12, "dur": 9,
     "args": {"External id": 12, "device": 0, "bytes": 100000}},
    {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 3, "args":
     {"Total Reserved": 5000, "Total Allocated": 10, "Bytes": 1, "Addr": 3, "Device Id": 0, "Device Type": 1}},
    {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 4, "args":
     {"Total Reserved": 9000, "Device Id": -1, "Device Type": 0}})~"));
  CHECK(events.image_bytes == 19'267'584);
  CHECK(events.devices().at(0).peak_memory_bytes == 5000);
}

TEST_CASE("damaged and foreign traces") {
  const std::string whole = kineto_text(R"~({"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1,
                                         "ts": 1, "dur": 1, "args": {"External id": 3}})~");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO(length);
    CHECK_THROWS_AS(read_events(whole.substr(0, length)), Error);
  }
  CHECK_THROWS_WITH(read_events(whole.substr(0, whole.size() - 20)),
                    Contains("event 0, byte") && Contains("truncated"));
  CHECK_THROWS_WITH(read_events(R"~({"traceEvents": [{"ph": "X", "name": "f", "ts": 1, "dur": 1}]})~"),
                    Contains("without events of PyTorch") && Contains("xplane.pb"));
  CHECK_NOTHROW(
      read_events(R"~({"traceEvents": [{"cat": "kernel"}, 3, null, {"cat": "kernel", "args": {"device": 1e99}}]})~"));
}

}  // namespace
}  // namespace unstarve
