// No gain is larger than what the cores and the rest of the step permit.

#include <catch2/catch.hpp>

#include "unstarve/diagnose/rules/testing/run_profiles.h"

namespace unstarve {
namespace {

using namespace testing;

TEST_CASE("workers that use a whole CPU quota gain nothing by being fewer") {
  RunProfile profile = run(0.1, std::vector<double>(6, 0.98));
  profile.machine.affinity_cores = 2;
  profile.machine.quota_cores = 0.6;
  profile.machine.throttled_share = 0.95;
  delay_all(profile, 9);
  record(profile, {{kMainThread, "__next__", kLoaderFile, 9.9, 0}, {kMainThread, "f", "torch/nn.py", 0.1, 0}}, 6);
  REQUIRE(found(profile) == Names{"cpu-quota", "many-workers"});
  CHECK(findings_of(profile)[0].rule == "cpu-quota");  // more CPU time helps
  CHECK(findings_of(profile)[1].gain.gain == 0);
  CHECK(findings_of(profile)[1].lost < findings_of(profile)[0].lost);
}

TEST_CASE("the main process cannot use more cores than it is left") {
  RunProfile profile = run(15, std::vector<double>(12, 1));
  profile.machine.affinity_cores = 8;
  profile.machine.quota_cores = 2;
  profile.processes[0].run_delay_s = 9;
  record(profile, {{kMainThread, "f", "torch/nn.py", 10, 0}}, 12);
  REQUIRE(found(profile).contains("many-workers"));
  CHECK(findings_of(profile)[0].gain.gain == Approx(2 / 1.5));
}

TEST_CASE("decoding at a reduced scale takes a part of the time of a loader that takes all of it") {
  RunProfile profile = run(9.9, {});
  profile.processes[0].minor_faults = 2'000'000;
  record(profile, {{kMainThread, "backward", "torch/_tensor.py", 0.1, 0},
                   {kMainThread, "load", "PIL/ImageFile.py", 4.9, 0},
                   {kMainThread, "resize", "PIL/Image.py", 5, 0}});
  for (const RunFinding& finding : findings_of(profile)) {
    if (finding.rule != "large-images") continue;
    CHECK(finding.gain.high < 7);
    CHECK(finding.gain.high >= finding.gain.gain);
    return;
  }
  FAIL("large-images was not found");
}

TEST_CASE("a program that is one Python function has no known gain") {
  RunProfile profile = run(9.9, {});
  record(profile, {{kMainThread, "count", kOwnFile, 10, 10}});
  REQUIRE(found(profile) == Names{"python-bound"});
  CHECK(findings_of(profile)[0].gain.gain == 0);
  CHECK_FALSE(findings_of(profile)[0].gain.known());
  CHECK(findings_of(profile)[0].lost == Approx(1));
  record(profile, {{kMainThread, "count", kOwnFile, 5, 5}, {kMainThread, "count", kOwnFile, 5, 5}});
  profile.stacks.lines.back().line = 99;  // of two lines
  CHECK(findings_of(profile)[0].gain.gain == 0);
  record(profile, {{kMainThread, "count", kOwnFile, 9, 9}, {kMainThread, "f", "torch/nn.py", 1, 0}});
  CHECK(findings_of(profile)[0].gain.gain == Approx(10));
  CHECK(findings_of(profile)[0].gain.high < 100);
}

TEST_CASE("a loop with most of the time has a predicted gain: operations on arrays take a part of its time") {
  RunProfile profile = run(9.9, {});
  record(profile, {{kMainThread, "count", kOwnFile, 4.5, 4},
                   {kMainThread, "count", kOwnFile, 4.6, 4},
                   {kMainThread, "f", "torch/nn.py", 0.9, 0}});
  profile.stacks.lines[1].line = 99;  // of two lines
  profile.stacks.seconds = 4;         // so few that the loop may have all of the time
  for (StackUse& stack : profile.stacks.stacks) stack.seconds *= 0.4;
  REQUIRE(found(profile) == Names{"python-bound"});
  const GainPrediction gain = findings_of(profile)[0].gain;
  CHECK(gain.gain == Approx(1 / (1 - 0.91 * 0.85)));
  CHECK(gain.low < gain.gain);
  CHECK(gain.high == Approx(100));
}

}  // namespace
}  // namespace unstarve
