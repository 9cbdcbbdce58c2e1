#include "unstarve/diagnose/traces/kernel_log_file.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/traces/kernel_log_fixture.h"

namespace unstarve {
namespace {

using Catch::Contains;

TEST_CASE("entries of a log by what they are") {
  LogBytes bytes;
  bytes.text(KernelLogKind::kName, 3, "gemm");
  bytes.begin(1000, 400);
  bytes.kernel(3, 1010, 1020);
  bytes.memory(kMemoryAllocated, 0x10, 4096, 1015);
  bytes.range(1, 410, 420);
  bytes.end(1100);
  bytes.call(5, 1030, 1031);  // records may follow the end of their window
  bytes.text(KernelLogKind::kMessage, 0, "another profiler uses CUPTI");
  const KernelLogFile log = parse_kernel_log(bytes.bytes(), "x");
  CHECK(log.process == 4711);
  CHECK(log.names == std::map<std::uint32_t, std::string>{{3, "gemm"}});
  CHECK(log.message == "another profiler uses CUPTI");
  REQUIRE(log.entries.size() == 2);
  CHECK(log.entries[1].kind == KernelLogKind::kCall);
  REQUIRE(log.memory.size() == 1);
  CHECK(log.memory[0].value == 4096);
  REQUIRE(log.windows.size() == 1);
  const LoggedWindow& window = log.windows[0];
  CHECK(window.has_kernels);
  CHECK(window.time.begin == 1'000'000'000);
  CHECK(window.time.end == 1'100'000'000);
  REQUIRE(window.ranges.size() == 1);
  CHECK(in_clock_of(window, window.ranges[0].begin_ns) == 1'010'000'000);
}

TEST_CASE("windows of a log") {
  LogBytes bytes;
  bytes.begin(1000, 0);
  bytes.range(1, 10, 20);
  bytes.end(1100, true);    // ranges were lost
  bytes.begin(1050, 5000);  // the clock was corrected
  bytes.range(1, 5010, 5020);
  bytes.end(1150);
  bytes.begin(2000, 6000, true);
  bytes.end(2100);
  bytes.begin(3000, 7000);
  bytes.end(3000);  // empty
  bytes.begin(4000, 8000);
  bytes.kernel(1, 4010, 4040);
  bytes.range(1, 8020, 8070);  // until 4070; then the process is killed
  const KernelLogFile log = parse_kernel_log(bytes.bytes(), "x");
  REQUIRE(log.windows.size() == 4);
  CHECK(log.windows[0].has_kernels);
  CHECK(log.windows[0].ranges.empty());
  CHECK_FALSE(log.windows[1].has_kernels);
  CHECK(log.windows[1].ranges.size() == 1);
  CHECK_FALSE(log.windows[2].has_kernels);
  CHECK_FALSE(log.windows[3].has_kernels);  // the last kernels are missing
  CHECK(log.windows[3].time.end == 4'070'000'000);
  CHECK(log.message.empty());
}

TEST_CASE("kernels of a window without end") {
  LogBytes bytes;
  bytes.begin(1000, 0);
  bytes.kernel(1, 1010, 1040);
  const KernelLogFile log = parse_kernel_log(bytes.bytes(), "x");
  REQUIRE(log.windows.size() == 1);
  CHECK_FALSE(log.windows[0].has_kernels);
  CHECK(log.message == "the first window of kernels has no end: the program was killed in it, or still runs");
}

TEST_CASE("windows whose kernels have another clock") {
  LogBytes bytes;
  constexpr double kOther = 1e9;
  bytes.begin(1000, 0);
  bytes.end(2000);
  bytes.kernel(1, kOther, kOther + 1);  // records arrive after the end, too
  bytes.begin(11'000, 10'000);
  bytes.kernel(1, 10'900, 10'990);  // while CUPTI was enabled, and none after that
  bytes.end(12'000);
  bytes.begin(21'000, 20'000);
  bytes.end(22'000);
  const KernelLogFile log = parse_kernel_log(bytes.bytes(), "x");
  REQUIRE(log.windows.size() == 3);
  CHECK_FALSE(log.windows[0].has_kernels);
  CHECK(log.windows[1].has_kernels);
  CHECK(log.windows[2].has_kernels);  // without any kernel
  CHECK_THAT(log.message, Contains("some kernels have times of another clock"));
}

TEST_CASE("devices of a log") {
  LogBytes bytes;
  bytes.text({.kind = KernelLogKind::kDevice, .detail = 90, .device = 1, .lane = std::uint64_t{80} << 30},
             "0000:4A:00.0 NVIDIA H100 80GB HBM3");
  bytes.text({.kind = KernelLogKind::kDevice, .detail = 86, .device = 2}, "damaged");
  const KernelLogFile log = parse_kernel_log(bytes.bytes(), "x");
  REQUIRE(log.devices.size() == 2);
  const LoggedDevice& device = log.devices.at(1);
  CHECK(device.name == "NVIDIA H100 80GB HBM3");
  CHECK(device.pci_address == "0000:4a:00.0");  // as in /sys
  CHECK(device.compute_capability == Approx(9.0));
  CHECK(device.memory_bytes == std::uint64_t{80} << 30);
  CHECK(log.devices.at(2).name.empty());
}

TEST_CASE("files of another kind") {
  CHECK_THROWS_WITH(parse_kernel_log({}, "x"), Contains("read kernels x: found 0 bytes"));
  const std::vector<std::uint8_t> zeros(100);
  CHECK_THROWS_WITH(parse_kernel_log(zeros, "x"), Contains("another kind of file"));
  LogBytes wrong;
  wrong.add({.kind = static_cast<KernelLogKind>(99)});
  CHECK_THROWS_WITH(parse_kernel_log(wrong.bytes(), "x"), Contains("an entry of kind 99 at byte 16"));
  LogBytes text;
  text.add({.kind = KernelLogKind::kName, .value = 1u << 30});
  CHECK_THROWS_WITH(parse_kernel_log(text.bytes(), "x"), Contains("a text of"));
  LogBytes version;
  version.bytes()[8] = 9;
  CHECK_THROWS_WITH(parse_kernel_log(version.bytes(), "x"), Contains("found version 9"));
}

}  // namespace
}  // namespace unstarve
