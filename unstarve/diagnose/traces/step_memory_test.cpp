#include "unstarve/diagnose/traces/step_memory.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

TraceSteps steps_at(std::vector<Interval> windows, bool found = true) {
  TraceSteps steps;
  steps.windows = std::move(windows);
  steps.found = found;
  return steps;
}

TEST_CASE("memory that steps allocate, keep and release") {
  const std::vector<Interval> recorded{{0, 100}, {1000, 1100}};
  const TraceSteps steps = steps_at({{10, 20}, {20, 30}, {1010, 1020}});
  const MemoryUse memory = memory_in_steps({{5, 700},  // before the first step
                                            {12, 100},
                                            {15, -40},
                                            {22, 300},
                                            {25, -200},
                                            {50, 9},  // after the steps
                                            {1012, -500},
                                            {1014, 50}},
                                           recorded, steps);
  CHECK(memory.allocations == 3);
  CHECK(memory.releases == 3);
  CHECK(memory.allocated_bytes == 450);
  CHECK(memory.growth_bytes == Approx((60 + 100 - 450) / 3.0));
  CHECK(memory.levels == std::vector<double>{800, 1060, 500});  // of the second window: above its least level
  CHECK(memory.peak_bytes == 1060);
}

TEST_CASE("memory without steps, and without changes") {
  const std::vector<Interval> recorded{{0, 100}};
  const MemoryUse memory = memory_in_steps({{12, 100}}, recorded, steps_at({{0, 100}}, false));
  CHECK(memory.allocations == 1);
  CHECK(memory.peak_bytes == 100);
  CHECK(memory.growth_bytes == 0);
  CHECK(memory.levels.empty());
  CHECK(memory_in_steps({{5, 700}}, recorded, steps_at({{10, 20}})).peak_bytes == 0);  // not in the step
  CHECK(memory_in_steps({{12, 100}}, {}, steps_at({{10, 20}})).allocations == 0);
}

}  // namespace
}  // namespace unstarve
