// Wall and CPU time of the stages of one thread.
#include "unstarve/pipeline/executor/stage_times.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

namespace unstarve {
namespace {

std::size_t index(WorkStage stage) { return static_cast<std::size_t>(stage); }

TEST_CASE("time that counts towards the next stage takes its share of the CPU time with it, and no more") {
  StageTotals totals;
  totals.take_cpu = true;
  StageClock clock(totals, true);
  const std::int64_t begin = thread_cpu_ns();
  while (thread_cpu_ns() < begin + 2'000'000) continue;
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  clock.lap(WorkStage::kDecode, 10, 20'000'000);  // more than the CPU time
  clock.lap(WorkStage::kAugment, 20);
  const std::int64_t decode = totals.cpu_ns[index(WorkStage::kDecode)];
  const std::int64_t augment = totals.cpu_ns[index(WorkStage::kAugment)];
  CHECK(decode > 0);
  CHECK(augment > 0);
  CHECK(decode + augment >= 2'000'000);
  CHECK(totals.ns[index(WorkStage::kDecode)] >= 12'000'000);
  CHECK(totals.ns[index(WorkStage::kAugment)] >= 20'000'000);
  CHECK(totals.both_ns == totals.ns);
  CHECK(totals.bytes[index(WorkStage::kDecode)] == 10);
}

TEST_CASE("a clock of a sample that is not timed counts bytes only") {
  StageTotals totals;
  StageClock clock(totals, false);
  clock.lap(WorkStage::kRead, 7);
  CHECK(totals.bytes[index(WorkStage::kRead)] == 7);
  CHECK(totals.ns == StageTotals().ns);
  CHECK(totals.cpu_ns == StageTotals().cpu_ns);
}

}  // namespace
}  // namespace unstarve
