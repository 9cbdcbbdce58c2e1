#include "unstarve/diagnose/profile/steady_part.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

ProcessUse training(double seconds, double cpu_s, double network_s) {
  ProcessUse use;
  use.pid = 7;
  use.role = ProcessRole::kMain;
  use.begin_s = 0.1;
  use.end_s = seconds;
  use.cpu_s = cpu_s;
  use.main_thread.waits.network_s = network_s;
  use.threads = {{"python", 1, cpu_s, 0, use.main_thread.waits}};
  use.peak_resident_bytes = 1000;
  return use;
}

TEST_CASE("the steady part begins at the last snapshot of the first half of the run") {
  // Imports use 3 s of CPU time in the first 4 s; then the program only waits for a server.
  SteadyPart part;
  RunProfile profile;
  for (int second = 1; second <= 12; ++second) {
    profile.processes = {training(second, std::min(second * 0.75, 3.0), std::max(second - 4, 0))};
    part.add(second, profile.processes);
  }
  part.set(profile, 12);
  CHECK(profile.steady_from_s == 6);
  REQUIRE(profile.steady.size() == 1);
  const ProcessUse& use = profile.steady[0];
  CHECK(use.begin_s == 6);
  CHECK(use.end_s == 12);
  CHECK(use.cpu_s == Approx(0));
  CHECK(use.main_thread.waits.network_s == Approx(6));
  CHECK(use.threads[0].waits.network_s == Approx(6));
  CHECK(use.peak_resident_bytes == 1000);
  CHECK(profile.processes[0].cpu_s == Approx(3));  // unchanged
}

// Otherwise a start of five seconds would be a part of a run of 14 s.
TEST_CASE("the steady part has no more than 55 % of a long run") {
  SteadyPart part;
  RunProfile profile;
  for (int look = 1; look <= 4000; ++look) {
    const double seconds = 0.25 * look;
    profile.processes = {training(seconds, seconds, 0)};
    part.add(seconds, profile.processes);
    if (seconds < 12) continue;
    part.set(profile, seconds);
    REQUIRE(profile.steady_from_s <= seconds / 2);
    REQUIRE(profile.steady_from_s >= 0.45 * seconds);
    REQUIRE(profile.steady[0].cpu_s == Approx(seconds - profile.steady_from_s));
  }
}

TEST_CASE("the busiest thread of the steady part may be another one than that of the start") {
  ProcessUse start = training(4, 4.5, 0), end = training(12, 13.5, 0);
  start.lives = {{7, {0.1, 4}}, {8, {3.5, 0.5}}};
  start.busiest_thread_s = 4;
  end.lives = {{7, {0.1, 5}}, {8, {3.5, 8.5}}};
  SECTION("and be the busiest of the whole run") { end.busiest_thread_s = 8.5; }
  SECTION("or not") {
    start.lives[7].cpu_s = start.busiest_thread_s = 10;
    end.lives[7].cpu_s = end.busiest_thread_s = 11;
  }
  const std::vector<ProcessUse> use = use_since({end}, {start}, 4);
  CHECK(use[0].busiest_thread_s == 8);
  CHECK(use[0].busiest_thread_begin_s == 3.5);
}

TEST_CASE("a run without snapshots has no steady part") {
  SteadyPart part;
  RunProfile profile;
  profile.processes = {training(1.5, 1, 0)};
  part.add(0.5, profile.processes);
  part.set(profile, 1.5);
  CHECK(profile.steady.empty());
  part.add(1.2, profile.processes);
  part.set(profile, 1.5);  // the snapshot is in the second half
  CHECK(profile.steady_from_s == 0);
  CHECK(profile.steady.empty());
}

TEST_CASE("processes that start later count completely, those that ended before do not") {
  ProcessUse ended = training(3, 2, 0), started = training(10, 5, 0), others;
  ended.pid = 8;
  ended.ended = true;
  started.pid = 9;
  started.begin_s = 6;
  others.cpu_s = 4;  // of processes that have ended
  ProcessUse others_before = others;
  others_before.cpu_s = 1;
  const std::vector<ProcessUse> use = use_since({ended, started, others}, {ended, others_before}, 4);
  REQUIRE(use.size() == 2);
  CHECK(use[0].cpu_s == 5);
  CHECK(use[0].begin_s == 6);
  CHECK(use[1].cpu_s == 3);
}

}  // namespace
}  // namespace unstarve
