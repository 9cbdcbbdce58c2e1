#include "unstarve/jobs/bench_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "unstarve/core/random.h"

namespace unstarve {
namespace {

struct MadeUpBench {
  double seconds, step_s;
  double excess_s;  // by which a round exceeds its plan
  double least_s;   // of a round
};

// Measures as run_bench() does. Returns the end; counts the rounds.
double run_made_up(const MadeUpBench& bench, bool contradicting, int& rounds) {
  double now = 2 * bench.step_s;  // after warming up
  RoundPlan plan(bench.seconds, now, bench.step_s);
  const auto run = [&](double planned) {
    now += std::max(planned + bench.excess_s, bench.least_s);
    ++rounds;
  };
  while (const auto planned = plan.next(now)) run(*planned);
  while (const auto planned = contradicting ? plan.further(now) : std::nullopt) run(*planned);
  return now;
}

}  // namespace

TEST_CASE("bench keeps to its time whatever its parts take, except for the first round") {
  Random random(7, 0, 0, 0);
  int all = 0, further = 0;
  for (int i = 0; i < 2000; ++i) {
    MadeUpBench bench{random.uniform(0.5, 60), random.uniform(0.001, 4), 0, 0};
    bench.excess_s = random.uniform(0, 3 * bench.step_s);
    bench.least_s = random.uniform(0, 5 * bench.step_s);
    int rounds = 0, with_further = 0;
    const double total = run_made_up(bench, false, rounds), longest = run_made_up(bench, true, with_further);
    CAPTURE(bench.seconds, bench.step_s, bench.excess_s, bench.least_s, rounds, with_further);
    REQUIRE(rounds >= 1);
    REQUIRE(with_further <= kBenchRounds + kFurtherRounds);
    const double late = std::max(bench.excess_s, bench.least_s), first = 2 * bench.step_s + late;
    CHECK(total <= std::max((1 - kFurtherShare) * bench.seconds, first) + late + 1e-6);
    CHECK(longest <= std::max(bench.seconds, first) + late + 1e-6);
    all += rounds == kBenchRounds ? 1 : 0;
    further += with_further > rounds ? 1 : 0;
    if (30 * bench.step_s < bench.seconds) CHECK(rounds == kBenchRounds);
  }
  CHECK(all > 500);
  CHECK(further > 100);
}

TEST_CASE("rounds without excess take the time together, and one that does not fit at all is measured nevertheless") {
  RoundPlan plan(20, 2, 0.1);
  CHECK(plan.rounds() == 3);
  CHECK(plan.next(2) == Approx(5));  // a third of 0.85 x 20 - 2
  CHECK(plan.next(7) == Approx(5));
  CHECK(plan.next(13) == Approx(3));  // it took 1 longer
  CHECK_FALSE(plan.next(17));
  CHECK(plan.further(17) == Approx(0.5));
  CHECK(RoundPlan(20, 2, 1.4).rounds() == 2);
  RoundPlan slow(8, 20, 10);
  CHECK(slow.rounds() == 1);
  CHECK(slow.next(20) == 0.0);
  CHECK_FALSE(slow.next(60));
  CHECK_FALSE(slow.further(60));
}

}  // namespace unstarve
