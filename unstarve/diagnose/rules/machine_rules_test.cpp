// Rules whose cause is the machine.
#include <algorithm>
#include <catch2/catch.hpp>

#include "unstarve/diagnose/rules/testing/run_profiles.h"

namespace unstarve {
namespace {

using namespace testing;

TEST_CASE("a quota that stops the program") {
  RunProfile profile = run(9, {});
  profile.machine.throttled_share = 0.3;
  CHECK(found(profile) == Names{"cpu-quota"});
  CHECK(findings_of(profile)[0].lost == Approx(0.3));  // the quota is unknown
  CHECK(findings_of(profile)[0].gain.gain == 0);
  // Four threads could run on a quota of two cores.
  profile = run(19, {});
  profile.processes[0].busiest_thread_s = 9;
  profile.processes[0].run_delay_s = 21;
  profile.machine.throttled_share = 0.9;
  profile.machine.quota_cores = 2;
  const RunFinding finding = findings_of(profile)[0];
  CHECK(finding.rule == "cpu-quota");
  CHECK(finding.gain.gain == Approx(1.85));
  CHECK(finding.gain.high == Approx(2));
  CHECK(finding.lost == Approx(1 - 1 / 1.85));
  CHECK(finding.evidence.find("4.0 threads could run") != std::string::npos);
  profile.machine.busy_cores = 1.9 + 5.5;  // 2.5 cores are not used by other programs
  CHECK(findings_of(profile)[0].gain.high == Approx(1.25));
  // Something was throttled in most periods, but the program needs hardly more than the quota.
  profile.machine.busy_cores = 1.9;
  profile.processes[0].run_delay_s = 1.2;
  CHECK(findings_of(profile)[0].lost < 0.01);
}

TEST_CASE("other programs") {
  RunProfile profile = run(6, {});
  profile.processes[0].run_delay_s = 4;
  CHECK(found(profile) == Names{});  // no other program runs
  profile.machine.busy_cores = 7.9;
  CHECK(foreign_cores(profile) == Approx(7.3));
  CHECK(found(profile) == Names{"other-programs"});
  profile.machine.busy_cores = 2.6;  // they use 2 of 8 cores: most of the delay is its own
  CHECK(findings_of(profile)[0].gain.gain == Approx(8.0 / 6));
  // It sleeps most of the time, as with a GPU: waiting for a core takes a sixth of its time, or hardly any.
  RunProfile sleeps = run(0.1, {});
  sleeps.machine.busy_cores = 7.9;
  sleeps.processes[0].run_delay_s = 1.6;
  CHECK(findings_of(sleeps)[0].gain.gain == Approx(1 / 0.84));
  sleeps.processes[0].run_delay_s = 0.4;
  CHECK(found(sleeps) == Names{});
  // Processes that were too short to be seen are its own.
  profile.machine.busy_cores = 7.9;
  profile.processes[0].ended_children_s = 70;
  CHECK(found(profile) == Names{});
  profile.machine.stolen_share = 0.2;
  CHECK(found(profile) == Names{"other-programs"});
  CHECK(findings_of(profile)[0].lost == Approx(0.6 * 0.2 / (0.2 + 7.9 / 8)));
  RunProfile idle = run(0.01, {});  // it does not need the cores
  idle.machine.stolen_share = 0.2;
  CHECK(found(idle) == Names{});
}

TEST_CASE("other programs outside of a CPU quota take nothing") {
  RunProfile profile = run(0.4, {});
  profile.machine.affinity_cores = 2;
  profile.machine.quota_cores = 0.5;
  profile.machine.busy_cores = 1.5;  // 0.9 cores remain for a quota of 0.5
  profile.processes[0].run_delay_s = 6;
  CHECK(left_cores(profile) == Approx(0.5));
  CHECK(taken_share(profile) == Approx(0).margin(1e-9));
  CHECK(found(profile) == Names{});
  profile.machine.busy_cores = 1.9;
  CHECK(taken_share(profile) > 0.2);
  profile.machine.busy_cores = 2.04 - 0.3;  // 0.3 cores remain
  CHECK(found(profile) == Names{"other-programs"});
  CHECK(findings_of(profile)[0].gain.gain <= 0.5 / 0.3 + 1e-9);
}

TEST_CASE("memory that grows") {
  RunProfile profile = run(9.9, {});
  for (int i = 0; i < 20; ++i) profile.timeline.resident_bytes.push_back(3e8 + 2e7 * i);
  CHECK(found(profile) == Names{"growing-memory"});
  // The loss is what is known of it: the time of the kernel for new pages, and steps that become slower.
  CHECK(findings_of(profile)[0].lost == 0);
  CHECK(findings_of(profile)[0].gain.gain == 0);
  profile.processes[0].main_system_s = 3;
  profile.processes[0].minor_faults = 1'000'000;
  CHECK(findings_of(profile)[0].lost == Approx(0.22));
  CHECK_THAT(findings_of(profile)[0].evidence, Catch::Contains("at least 1.28 times"));
  profile.processes[0].main_system_s = 1;
  CHECK(findings_of(profile)[0].lost == Approx(0.1));
  profile.steps = {"un.step()", 29, {}, 250};
  for (int i = 0; i < 250; ++i) profile.steps.seconds.push_back(i < 100 ? 0.01 : 0.02);
  CHECK(findings_of(profile)[0].lost == Approx(1 - 0.01 / 0.0175));
  profile.steps = {};
  CHECK(findings_of(profile)[0].ends_run);  // from 380 to 640 MB
  RunProfile slow_growth = profile;
  for (double& bytes : slow_growth.timeline.resident_bytes) bytes = 5e8 + bytes / 2;
  CHECK_FALSE(findings_of(slow_growth)[0].ends_run);
  for (double& bytes : profile.timeline.resident_bytes) bytes = std::min(bytes, 5e8);  // a cache that is full
  CHECK(found(profile) == Names{});
  for (double& bytes : profile.timeline.resident_bytes) bytes = 5e8;
  CHECK(found(profile) == Names{});
}

}  // namespace
}  // namespace unstarve
