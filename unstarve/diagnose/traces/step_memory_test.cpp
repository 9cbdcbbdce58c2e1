#include "unstarve/diagnose/traces/step_memory.h"

#include <algorithm>
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
  CHECK(memory.growth_bytes == 0);                              // the last step releases
  CHECK(memory.levels == std::vector<double>{800, 1060, 500});  // of the second window: above its least level
  CHECK(memory.peak_bytes == 1060);
}

TEST_CASE("memory grows if the later steps allocate, too") {
  const std::vector<Interval> recorded{{0, 100}, {1000, 1100}};
  std::vector<Interval> windows;
  for (const Interval& window : recorded)
    for (int step = 0; step < 10; ++step) windows.push_back({window.begin + 10 * step, window.begin + 10 * (step + 1)});
  const TraceSteps steps = steps_at(windows);
  std::vector<MemoryChange> changes;
  const auto growth = [&] { return memory_in_steps(changes, recorded, steps).growth_bytes; };
  for (int step = 0; step < 10; ++step) changes.push_back({10 * step + 5, 100});
  CHECK(growth() == 0);  // workspaces of the first window
  changes.push_back({1021, 5000});
  CHECK(growth() == 0);  // and a late one
  changes.pop_back();
  for (int step = 0; step < 10; ++step) changes.push_back({1000 + 10 * step + 5, 70});
  CHECK(growth() == Approx(70));
  for (int step = 0; step < 10; ++step) changes.push_back({1000 + 10 * step + 7, -70});
  std::sort(changes.begin(), changes.end(),
            [](const MemoryChange& a, const MemoryChange& b) { return a.time_ns < b.time_ns; });
  CHECK(growth() == 0);
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
