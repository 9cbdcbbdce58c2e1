#include "unstarve/diagnose/probes/pace.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

TEST_CASE("a constant cost takes its share of the time") {
  Pace pace(1, 60);
  double cost = 0;
  for (int i = 0; i < 200; ++i, cost += 0.01) pace.done(pace.next_s(), 0.01, 0.003);
  CHECK(cost / pace.next_s() == Approx(0.003).epsilon(0.05));
}

TEST_CASE("one expensive time delays the next ones by a few times the earlier distance") {
  Pace pace(1, 60);
  for (int i = 0; i < 20; ++i) pace.done(pace.next_s(), 0.003, 0.003);
  const double before = pace.next_s();
  pace.done(before, 0.06, 0.003);  // 20 s of its share
  CHECK(pace.next_s() - before < 6);
  for (int i = 0; i < 20; ++i) pace.done(pace.next_s(), 0.003, 0.003);
  const double later = pace.next_s();
  pace.done(later, 0.003, 0.003);
  CHECK(pace.next_s() - later < 1.1);
}

TEST_CASE("the distance stays within its bounds") {
  Pace pace(0.02, 10);
  pace.done(5, 0, 0.003);
  CHECK(pace.next_s() == Approx(5.02));
  for (int i = 0; i < 30; ++i) pace.done(6, 1, 0.003);
  CHECK(pace.next_s() == Approx(16));
}

}  // namespace
}  // namespace unstarve
