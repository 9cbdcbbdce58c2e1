#include "unstarve/jobs/common/io_table.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

using Catch::Contains;

TEST_CASE("I/O and memory as text") {
  RunProfile profile;
  CHECK(io_to_text(profile).empty());
  RunTimeline& timeline = profile.timeline;
  timeline.interval_s = 2;
  for (int i = 0; i <= 10; ++i) {
    timeline.read_bytes_per_s.push_back(1e6 * i);
    timeline.storage_bytes_per_s.push_back(0);
    timeline.received_bytes_per_s.push_back(3e6);
    timeline.sent_bytes_per_s.push_back(0.7);
    timeline.major_faults_per_s.push_back(i);
  }
  ProcessUse process;
  process.pid = 4711;
  process.name = "python";
  process.read_bytes = 1000;
  process.storage_bytes = 100;
  process.locked_bytes = 65536;
  process.pinned_bytes = 2 << 20;
  profile.processes = {process, process, process, process};
  profile.machine.shm_bytes = std::int64_t{64} << 20;
  profile.machine.shm_used_bytes = 1 << 20;
  profile.machine.memory_limit_bytes = std::int64_t{2} << 30;
  profile.trace.emplace().pinned = {4, 0, 8 << 20, 6 << 20, 0, {}};
  const std::string text = io_to_text(profile);
  const auto line = [&](const std::string& name) {
    const std::size_t at = text.find(name);
    REQUIRE(at != std::string::npos);
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK_THAT(line("read by the program"), Contains("5.00 MB") && Contains("1.00 MB") && Contains("9.00 MB"));
  CHECK_THAT(line("network, received"), Contains("3.00 MB"));
  CHECK_THAT(line("network, sent"), !Contains("-"));  // zero in all columns
  CHECK_THAT(line("major page faults"), Contains("9"));
  CHECK_THAT(text, Contains("90.0 % of the bytes that were read came from the page cache"));
  CHECK_THAT(line("/dev/shm"),
             Contains("peak use by all programs 1.05 MB of 67.1 MB; it counts towards the memory limit of"));
  CHECK_THAT(line("locked memory"), Contains("of process 4711 (python)") && Contains("and 1 more"));
  CHECK_THAT(line("pinned memory from CUDA"), Contains("4 allocations"));
  CHECK(io_table(profile).rows.size() == 5);
}

}  // namespace
}  // namespace unstarve
