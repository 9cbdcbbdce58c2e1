#include "unstarve/jobs/ladder/ladder_time.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "unstarve/core/random.h"
#include "unstarve/jobs/ladder/subject.h"
#include "unstarve/observe/ledger.h"

namespace unstarve {

TEST_CASE("a block takes its time, at least one step, and the steps for prefetched batches before it") {
  const SideTime fast{0.01, 4, 1}, slow{3, 4, 1};
  CHECK(untimed_time(fast, 1) == Approx(0.05));
  CHECK(untimed_time(fast, 0.02) == Approx(0.03));  // no step starts later than 0.02 s
  CHECK(untimed_time(slow, 0.1) == Approx(3.1));
  CHECK(pairs_time(fast, slow, 6, 0.1) == Approx(6 * (0.1 + 0.05 + 3 + 3.1)));
  CHECK(final_time(slow, fast, false) == Approx(pairs_time(slow, fast, kMinPairs, kShortestBlock) + 2));
  CHECK(final_time(slow, fast, true) == Approx(final_time(slow, fast, false) + 2 + kMinPairs * 2 * 0.15));
}

TEST_CASE("a step gets its part of the time, what it needs, but nothing of what the end needs") {
  CHECK(plan_step(120, 10, 1, 5) == Approx(10));  // of 12 parts
  CHECK(plan_step(120, 10, 30, 5) == Approx(30));
  CHECK(plan_step(12, 1, 1, 9) == Approx(3));
  CHECK_FALSE(plan_step(12, 1, 4, 9));
  CHECK_FALSE(plan_step(-1, 1, 0, 0));
}

TEST_CASE("a batch whose steps are too slow is reduced to one that fits") {
  CHECK(batch_that_fits(32, 0.1, 8, 5) == 32);
  CHECK(batch_that_fits(32, 8.0 / 5, 8, 5) == 32);
  CHECK(batch_that_fits(32, 2, 8, 5) == 24);
  CHECK(batch_that_fits(32, 46, 8, 5) == 1);
  CHECK(batch_that_fits(32, 10, 8, 5) == 5);
  CHECK(batch_that_fits(1, 100, 8, 5) == 1);
}

TEST_CASE("with a reduced batch, base, one step and the comparisons at the end fit into the time") {
  int reduced = 0;
  for (std::uint32_t draw = 0; draw < 500; ++draw) {
    Random random(4, draw, 0, 0);
    const double sample_s = random.uniform(0.01, 1), seconds = random.uniform(10, 300);
    const int batch = batch_that_fits(256, 256 * sample_s, seconds, kLeastLadderSteps);
    if (batch * sample_s < kShortestBlock) continue;  // blocks have more than one step
    reduced += batch < 256;
    const double step_s = batch * sample_s, build_s = 4 * step_s;
    const SideTime side{step_s, 2, build_s};
    const double base = build_s + 3 * step_s, step = build_s + pairs_time(side, side, kMinPairs, kShortestBlock);
    if (batch == 1) continue;  // as small as possible
    CHECK(base + least_final_time(side, side) < seconds);
    CHECK(plan_step(seconds - base, 1, step, final_time(side, side, true)));
  }
  CHECK(reduced > 100);
}

TEST_CASE("tune keeps to its time whatever steps take, except for the base and the comparison with it") {
  int tried = 0, left_out = 0;
  for (std::uint32_t draw = 0; draw < 500; ++draw) {
    Random random(3, draw, 0, 0);
    const double seconds = random.uniform(5, 300), step_s = random.uniform(0.001, 3), build_s = random.uniform(0.1, 3);
    const SideTime base{step_s, 0, build_s};
    SideTime current = base;
    double now = build_s + 2 * step_s;
    for (int steps = 12; steps > 0; --steps) {
      const SideTime other{current.step_s * random.uniform(0.5, 1.2), static_cast<int>(random.below(5)), build_s};
      const double pairs = pairs_time(current, other, kMinPairs, kShortestBlock);
      const auto budget =
          plan_step(seconds - now, steps, build_s + std::max(pairs, pairs_time(current, current, 6, 0.1)),
                    final_time(base, current, true));
      ++(budget ? tried : left_out);
      if (!budget) continue;
      now += *budget;
      if (other.step_s < current.step_s) current = other;
    }
    const double end = now + final_time(base, current, true);
    // A step may change the number of prefetched batches, which take up to the time of a block.
    const double prefetched = 4 * kMinPairs * kShortestBlock;
    CHECK(end <= std::max(seconds, build_s + 2 * step_s + final_time(base, base, true)) + prefetched);
  }
  CHECK(tried > 1000);
  CHECK(left_out > 1000);
}

}  // namespace unstarve
