#include <catch2/catch.hpp>

#include "unstarve/diagnose/rules/testing/run_profiles.h"

namespace unstarve {
namespace {

using namespace testing;

TEST_CASE("a healthy program has no findings") {
  CHECK(found(run(9.8, {4, 4, 4, 4})) == Names{});
  CHECK(found(run(5, {})) == Names{});
  CHECK(found(RunProfile{}) == Names{});
  // It uses all cores, but its main process works.
  RunProfile profile = run(9.8, std::vector<double>(7, 9.9));
  delay_all(profile, 0.2);
  CHECK(found(profile) == Names{});
  profile.machine.io_pressure = 0.9;  // of readers that work ahead
  profile.processes[1].storage_bytes = profile.processes[1].read_bytes = 5'000'000'000;
  CHECK(found(profile) == Names{});
}

TEST_CASE("shares are those of the run after its start") {
  RunProfile profile = run(4, {9.7, 9.8});
  profile.steady = profile.processes;
  profile.steady_from_s = 4;
  for (ProcessUse& use : profile.steady) {
    use.begin_s = 4;
    use.cpu_s = use.busiest_thread_s = 0.58 * use.cpu_s;
  }
  CHECK(found(profile) == Names{"few-workers"});
  profile.machine.affinity_cores = 2;
  profile.machine.busy_cores = 2;
  record(profile, {{kMainThread, "__next__", "torch/utils/data/dataloader.py", 6, 0}});
  CHECK(found(profile).contains("expensive-samples"));
  for (ProcessUse& use : profile.steady) use.cpu_s = use.busiest_thread_s = 1;  // it worked only at its start
  CHECK(found(profile) == Names{});
}

TEST_CASE("the machine that is enough") {
  RunProfile profile = run(9.8, {4, 4});
  profile.processes[0].peak_resident_bytes = 3000;
  profile.processes[1].peak_resident_bytes = 500;
  profile.processes[2].peak_resident_bytes = 9000;
  profile.processes[2].ended = true;
  profile.processes[2].end_s = 2;
  CHECK(sufficient_machine(profile).cores == 2);             // 1.78 are busy
  CHECK(sufficient_machine(profile).memory_bytes == 12500);  // all at its start
  profile.processes[0].begin_s = 1.9;
  profile.processes[1].begin_s = 2;
  CHECK(sufficient_machine(profile).memory_bytes == 12000);
  profile.processes[0].begin_s = 3;
  CHECK(sufficient_machine(profile).memory_bytes == 9000);  // the others run after it
  CHECK(sufficient_machine({}).cores == 0);
  profile.watching.seconds = 2;
  CHECK(sufficient_machine(profile).cores == 0);
  profile = run(19.5, {});  // 1.95 are busy, and it had no more than 2
  CHECK(sufficient_machine(profile).cores == 3);
  profile.machine.affinity_cores = 2;
  CHECK(sufficient_machine(profile).cores == 2);
}

TEST_CASE("the confidence is that of the amount of evidence") {
  RunProfile profile = run(9, {});
  profile.machine.throttled_share = 0.3;
  const auto confidence = [&] { return findings_of(profile).at(0).confidence; };
  CHECK(confidence() == Confidence::kMedium);
  profile.watching.seconds = 8;
  CHECK(confidence() == Confidence::kLow);
  profile.watching.seconds = 60;
  profile.processes[0].end_s = 60;
  CHECK(confidence() == Confidence::kHigh);
  profile.machine.busy_cores = 7;  // other programs disturb
  CHECK(confidence() == Confidence::kMedium);
  profile.machine.busy_cores = 0.9;
  profile.machine.throttled_share = 0.1;
  CHECK(confidence() == Confidence::kMedium);
  profile.machine.throttled_share = 0;
  profile.steps = {"un.step()", 29, std::vector<double>(200, 0.01), 200};
  for (std::size_t step = 24; step < 200; step += 25) profile.steps.seconds[step] = 0.61;
  CHECK(confidence() == Confidence::kLow);  // of step-pauses: nothing else explains them
}

TEST_CASE("names of rules differ") {
  Names names;
  for (const Rule& rule : rules()) {
    CHECK(names.insert(rule.name).second);
    CHECK(std::string(rule.threshold).size() > 10);
  }
}

}  // namespace
}  // namespace unstarve
