// Healthy programs on a machine that other programs use.

#include <catch2/catch.hpp>

#include "unstarve/diagnose/rules/testing/run_profiles.h"

namespace unstarve {
namespace {

using namespace testing;

// Matrix products on two threads, while other programs use most of two cores.
RunProfile products_on_a_busy_machine() {
  RunProfile profile = run(9, {});
  profile.machine.affinity_cores = 2;
  profile.machine.busy_cores = 2;
  ProcessUse& main = profile.processes[0];
  main.has_openmp = true;
  main.run_delay_s = 11;
  main.busiest_thread_s = 4.6;
  main.main_thread = {"python", 1, 4.6, 5.4, {}};
  main.threads = {{"python", 2, 9, 11, {}}};
  record(profile, {{kMainThread, "main", kOwnFile, 10, 0}});
  return profile;
}

TEST_CASE("threads that compute do not busy-wait if other programs take the cores") {
  CHECK(found(products_on_a_busy_machine()) == Names{"other-programs"});
}

TEST_CASE("threads that only wait are found, also if other programs take the cores") {
  RunProfile profile = products_on_a_busy_machine();
  record(profile, {{kMainThread, "__next__", kLoaderFile, 9, 0}, {kMainThread, "forward", "torch/nn.py", 1, 0}});
  CHECK(found(profile).contains("spinning-threads"));
}

}  // namespace
}  // namespace unstarve
