#include "unstarve/jobs/ladder/core_users.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

TEST_CASE("cores that this process does not use are those of other programs", "[core_users]") {
  MachineUse use;
  use.affinity_cores = 8;
  use.busy_cores = 5;
  use.stolen_share = 0.1;
  use.throttled_share = 0.2;
  BenchFigures figures;
  figures.usable_cores = 2;  // of a quota
  set_core_users(use, 1.5, figures);
  CHECK(figures.free_cores == 6);
  CHECK(figures.other_cores == 3.5);
  CHECK(figures.stolen_share == 0.1);
  CHECK(figures.throttled_share == 0.2);
  set_core_users(use, 5.1, figures);  // both are estimates
  CHECK(figures.other_cores == 0);
}

}  // namespace
}  // namespace unstarve
