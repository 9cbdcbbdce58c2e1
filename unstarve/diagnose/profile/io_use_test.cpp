#include "unstarve/diagnose/profile/io_use.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

TEST_CASE("rates of I/O are means and percentiles of the timeline") {
  RunProfile profile;
  CHECK(io_use(profile).read.mean == 0);
  CHECK(io_use(profile).cached_share == -1);
  profile.timeline.interval_s = 2;
  for (int i = 0; i <= 10; ++i) profile.timeline.received_bytes_per_s.push_back(100 * i);
  profile.timeline.major_faults_per_s = {0, 0, 30};
  profile.processes.resize(2);
  profile.processes[0].read_bytes = 600;
  profile.processes[1].read_bytes = 400;
  profile.processes[1].storage_bytes = 250;
  const IoUse use = io_use(profile);
  CHECK(use.interval_s == 2);
  CHECK(use.received.mean == Approx(500));
  CHECK(use.received.p10 == Approx(100));
  CHECK(use.received.p50 == Approx(500));
  CHECK(use.received.p90 == Approx(900));
  CHECK(use.sent.p90 == 0);
  CHECK(use.major_faults.mean == Approx(10));
  CHECK(use.major_faults.p50 == 0);
  CHECK(use.cached_share == Approx(0.75));
  profile.processes[1].storage_bytes = 5000;  // mapped files
  CHECK(io_use(profile).cached_share == -1);
}

}  // namespace
}  // namespace unstarve
