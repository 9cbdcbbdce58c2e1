#include "unstarve/diagnose/traces/xspace.h"

#include <catch2/catch.hpp>
#include <initializer_list>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/traces/reduce.h"

namespace unstarve {
namespace {

using Catch::Contains;

// ---- a writer of protobuf

std::string number_bytes(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes.push_back(static_cast<char>(value & 127 | 128));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
std::string number(std::uint64_t field, std::int64_t value) {
  return number_bytes(field << 3) + number_bytes(static_cast<std::uint64_t>(value));
}
std::string bytes(std::uint64_t field, const std::string& value) {
  return number_bytes(field << 3 | 2) + number_bytes(value.size()) + value;
}
std::string metadata(std::uint64_t field, std::int64_t id, const std::string& name) {
  return bytes(field, number(1, id) + bytes(2, number(1, id) + bytes(2, name)));
}
std::string event(std::int64_t id, std::int64_t offset_ps, std::int64_t duration_ps, const std::string& stats = "") {
  return bytes(4, number(1, id) + number(2, offset_ps) + number(3, duration_ps) + stats);
}

constexpr std::int64_t kMsInPs = 1'000'000'000;  // in ps

std::string host_plane() {
  std::string thread = number(1, 77) + bytes(2, "python") + number(3, 5'000'000);
  for (int step = 0; step < 6; ++step) {
    const std::int64_t at = 10 * kMsInPs * step;
    thread += event(1, at, 10 * kMsInPs, bytes(4, number(1, 1) + number(4, step)));  // the stat step_num
    thread += event(2, at, 4 * kMsInPs);
    thread += event(3, at + 4 * kMsInPs, kMsInPs);
    thread += event(4, at + 5 * kMsInPs, kMsInPs);
  }
  return bytes(1, number(1, 1) + bytes(2, "/host:CPU") + bytes(3, thread) + metadata(4, 1, "train") +
                      metadata(4, 2, "IteratorGetNext:IteratorGetNextOp") + metadata(4, 3, "MatMul") +
                      metadata(4, 4, "cuStreamSynchronize") + metadata(5, 1, "step_num"));
}

std::string gpu_plane() {
  std::string stream = number(1, 13) + bytes(2, "Stream #13(Compute)") + number(3, 5'000'000);
  std::string derived = number(1, 14) + bytes(2, "XLA Ops") + number(3, 5'000'000);
  for (int step = 0; step < 6; ++step) {
    const std::int64_t at = 10 * kMsInPs * step;
    stream += event(1, at + 6 * kMsInPs, 3 * kMsInPs);
    derived += event(1, at + 6 * kMsInPs, 3 * kMsInPs);
    stream +=
        event(2, at + 5 * kMsInPs, kMsInPs, bytes(4, number(1, 1) + number(7, 2)));  // the name of stat 2 is the value
  }
  return bytes(1, bytes(2, "/device:GPU:0") + bytes(3, stream) + bytes(3, derived) +
                      metadata(4, 1, "ampere_sgemm_128x64_tn") + metadata(4, 2, "MemcpyH2D") +
                      metadata(5, 1, "memcpy_details") +
                      metadata(5, 2, "kind_src:pageable kind_dst:device size:4096 dest:0 async:1"));
}

TraceEvents read_space(const std::string& file) {
  TraceEvents events;
  read_xspace({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, "x.pb", events);
  return events;
}

TEST_CASE("an XSpace of host and GPU") {
  TraceEvents events = read_space(host_plane() + gpu_plane());
  CHECK(events.framework == Framework::kTensorFlow);
  const TraceUse use = reduce_trace(events);
  CHECK(use.steps.size() == 5);
  CHECK(use.analysed_s == Approx(0.05));
  CHECK(use.idle.loader_s == Approx(0.02));
  REQUIRE(use.devices.size() == 1);
  CHECK(use.devices[0].busy_s == Approx(0.015));
  CHECK(use.devices[0].matrix_s == Approx(0.015));  // each kernel once
  REQUIRE(use.copies.size() == 1);
  CHECK(use.copies[0].direction == CopyDirection::kToDevice);
  CHECK(use.copies[0].host_memory == MemoryKind::kPageable);
  CHECK(use.copies[0].bytes == 5 * 4096);
  CHECK(use.operators[0].name == "MatMul");
  CHECK(use.parts[static_cast<std::size_t>(StepActivity::kCopy)] == Approx(0.005));
}

TEST_CASE("a graph waits for its input in another thread, and a thread that prefetches does not count") {
  const auto run = [](std::int64_t id) { return bytes(4, number(1, 2) + number(4, id)); };  // the stat id
  std::string main = number(1, 77), input = number(1, 78), prefetching = number(1, 79);
  for (int step = 0; step < 6; ++step) {
    const std::int64_t at = 10 * kMsInPs * step;
    main += event(1, at, 10 * kMsInPs, bytes(4, number(1, 1) + number(4, step)));
    main += event(2, at, kMsInPs, run(-100 - step));
    input += event(3, at + kMsInPs, 4 * kMsInPs, run(-100 - step));
    input += event(3, at + 5 * kMsInPs, 3 * kMsInPs, run(-200 - step));  // of the graph that prefetches
    prefetching += event(2, at + 5 * kMsInPs, kMsInPs, run(-200 - step));
    prefetching += event(3, at + 8 * kMsInPs, kMsInPs);  // without a graph
  }
  TraceEvents events = read_space(
      bytes(1, bytes(2, "/host:CPU") + bytes(3, main) + bytes(3, input) + bytes(3, prefetching) +
                   metadata(4, 1, "train") + metadata(4, 2, "FunctionRun") +
                   metadata(4, 3, "IteratorGetNextOp::DoCompute") + metadata(5, 1, "step_num") + metadata(5, 2, "id")));
  const TraceUse use = reduce_trace(events);
  CHECK(use.steps.size() == 5);
  CHECK(use.idle.loader_s == Approx(0.02));
}

TEST_CASE("products that XLA generates do not show whether they use tensor cores") {
  const std::string stream =
      number(1, 13) + bytes(2, "Stream #13(Compute)") + event(1, 0, 8 * kMsInPs) + event(2, 8 * kMsInPs, kMsInPs);
  TraceEvents events =
      read_space(bytes(1, bytes(2, "/device:GPU:0") + bytes(3, stream) + metadata(4, 1, "gemm_fusion_dot_13_0") +
                              metadata(4, 2, "ampere_sgemm_128x64_tn")));
  const TraceUse use = reduce_trace(events);
  CHECK(use.devices.at(0).kernel_s == Approx(0.009));
  CHECK(use.devices[0].matrix_s == Approx(0.001));
}

TEST_CASE("calls of the runtime are not operators with a similar name") {
  const std::string line = number(1, 1) + event(1, 0, kMsInPs) + event(2, kMsInPs, kMsInPs) + event(3, 3, kMsInPs);
  TraceEvents events = read_space(bytes(1, bytes(2, "/host:CPU") + bytes(3, line) + metadata(4, 1, "custom-call.1") +
                                               metadata(4, 2, "cudaMalloc") + metadata(4, 3, "cuLaunchKernel")));
  REQUIRE(events.events().size() == 3);
  CHECK(events.events()[0].activity == TraceActivity::kOperator);
  CHECK(events.events()[1].activity == TraceActivity::kAllocation);
  CHECK(events.events()[2].activity == TraceActivity::kLaunch);
}

TEST_CASE("the operators of a TPU") {
  const std::string line = number(1, 1) + bytes(2, "XLA Ops") + event(1, 0, kMsInPs) + event(2, kMsInPs, kMsInPs);
  const std::string modules = number(1, 2) + bytes(2, "XLA Modules") + event(1, 0, 2 * kMsInPs);
  TraceEvents events = read_space(bytes(1, bytes(2, "/device:TPU:3") + bytes(3, line) + bytes(3, modules) +
                                               metadata(4, 1, "fusion.2") + metadata(4, 2, "all-reduce.1")));
  const TraceUse use = reduce_trace(events);
  REQUIRE(use.devices.size() == 1);
  CHECK(use.devices[0].index == 3);
  CHECK(use.devices[0].kernel_s == Approx(1e-3));
  CHECK(use.devices[0].collective_s == Approx(1e-3));
}

TEST_CASE("truncated and foreign XSpaces") {
  const std::string file = host_plane() + gpu_plane();
  CHECK_THROWS_WITH(read_space(file.substr(0, file.size() - 1)), Contains("x.pb") && Contains("offset"));
  for (std::size_t length = 1; length < host_plane().size(); length += 7) {
    INFO(length);
    CHECK_THROWS_AS(read_space(file.substr(0, length)), Error);
  }
  CHECK_THROWS_WITH(read_space(bytes(4, "host")), Contains("no planes"));
}

TEST_CASE("an XSpace is recognised by its first plane") {
  const auto begins = [](const std::string& file) {
    return begins_as_xspace({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
  };
  CHECK(begins(host_plane()));
  CHECK(begins(gpu_plane()));
  CHECK_FALSE(begins(""));
  CHECK_FALSE(begins("\n\n\n"));
  CHECK_FALSE(begins("{\"a\": 1}"));
  CHECK_FALSE(begins("\nplain text"));
}

}  // namespace
}  // namespace unstarve
