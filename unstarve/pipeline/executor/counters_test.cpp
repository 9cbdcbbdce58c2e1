#include "unstarve/pipeline/executor/counters.h"

#include <catch2/catch.hpp>

#include <thread>

#include "unstarve/core/error.h"

using unstarve::Error;
using unstarve::StageCounters;

TEST_CASE("counters are summed over workers per stage") {
  StageCounters counters({"read", "decode"}, 2);
  counters.worker(0).count(0, 10, 1000);
  counters.worker(1).count(0, 5, 500);
  counters.worker(1).count(1, 5, 9000);
  const auto sum = counters.sum();
  REQUIRE(sum.size() == 2);
  CHECK(sum[0].name == "read");
  CHECK(sum[0].samples == 15);
  CHECK(sum[0].bytes == 1500);
  CHECK(sum[1].samples == 5);
  CHECK(sum[1].bytes == 9000);
  CHECK(sum[0].busy_ns == 0);
}

TEST_CASE("the time of the timed samples is scaled to all samples") {
  StageCounters counters({"decode"}, 2);
  counters.worker(0).count(0, 90, 0);
  counters.worker(1).count(0, 10, 0);
  counters.worker(0).time(0, 8, 800);
  counters.worker(1).time(0, 2, 400);
  CHECK(counters.sum()[0].busy_ns == 12000);  // 1200 ns / 10 timed * 100
}

TEST_CASE("the CPU share of some samples is applied to all, and squares are scaled like times") {
  StageCounters counters({"read"}, 2);
  counters.worker(0).count(0, 100, 0);
  counters.worker(0).time(0, 10, 1000, 40);
  counters.worker(0).cpu(0, 200, 30);
  counters.worker(1).cpu(0, 200, 70);
  counters.worker(0).delay(5);
  counters.worker(1).delay(6);
  counters.worker(0).sleeps(20, 3);
  counters.worker(1).sleeps(1, 0);
  const auto sum = counters.sum();
  CHECK(sum[0].busy_ns == 10000);
  CHECK(sum[0].cpu_ns == 2500);
  CHECK(sum[0].squares_us2 == 400);
  CHECK(counters.totals().run_delay_ns == 11);
  CHECK(counters.totals().watched_samples == 21);
  CHECK(counters.totals().sleeps == 3);
}

TEST_CASE("for threads that hardly ever sleep, all time without a CPU is run delay") {
  StageCounters counters({"read", "decode"}, 1);
  auto& worker = counters.worker(0);
  worker.sleeps(10, 10);
  const StageCounters::Totals then = counters.totals();
  for (const std::size_t stage : {0u, 1u}) {
    worker.count(stage, 1000, 0);
    worker.time(stage, 1000, 9000);
    worker.cpu(stage, 9000, 4000);
  }
  worker.delay(700);
  const auto delay = [&] { return counters.run_delay_ns(then, counters.totals()); };
  CHECK(delay() == 700);  // the delay was not measured
  worker.sleeps(1024, 3);
  CHECK(delay() == 10'000);
  worker.sleeps(0, 1);
  CHECK(delay() == 700);
  worker.sleeps(1, 0);  // less than one in 256 samples
  CHECK(delay() == 10'000);
  worker.sleeps(100, 100);
  CHECK(delay() == 700);
}

TEST_CASE("the time since a moment is independent of the samples timed before it") {
  StageCounters counters({"read"}, 1);
  auto& worker = counters.worker(0);
  worker.count(0, 1000, 10);
  worker.time(0, 31, 310);
  const StageCounters::Totals then = counters.totals();
  worker.count(0, 1000, 20);
  worker.time(0, 1000, 1'000'000);
  const auto since = counters.sum(then, counters.totals());
  CHECK(since[0].samples == 1000);
  CHECK(since[0].bytes == 20);
  CHECK(since[0].busy_ns == 1'000'000);
}

TEST_CASE("concurrent workers lose no counts while another thread reads") {
  constexpr int kWorkers = 3, kRounds = 20000;
  StageCounters counters({"a", "b"}, kWorkers);
  {
    std::vector<std::jthread> threads;
    for (int w = 0; w < kWorkers; ++w) {
      threads.emplace_back([&, w] {
        auto& mine = counters.worker(w);
        for (int i = 0; i < kRounds; ++i) {
          mine.count(0, 1, 2);
          mine.count(1, 3, 4);
        }
      });
    }
    std::int64_t before = 0;
    for (int i = 0; i < 100; ++i) {
      const std::int64_t now = counters.sum()[0].samples;
      CHECK(now >= before);
      before = now;
    }
  }
  const auto sum = counters.sum();
  CHECK(sum[0].samples == kWorkers * kRounds);
  CHECK(sum[0].bytes == 2 * kWorkers * kRounds);
  CHECK(sum[1].samples == 3 * kWorkers * kRounds);
  CHECK(sum[1].bytes == 4 * kWorkers * kRounds);
}

TEST_CASE("counters without workers or stages are rejected") {
  CHECK_THROWS_AS(StageCounters({}, 1), Error);
  CHECK_THROWS_AS(StageCounters({"a"}, 0), Error);
  CHECK_THROWS_AS(StageCounters(std::vector<std::string>(9, "s"), 1), Error);
  StageCounters one({"a"}, 1);
  CHECK_THROWS_AS(one.worker(1), Error);
  CHECK_THROWS_AS(one.worker(-1), Error);
}

TEST_CASE("two workers never share a cache line") {
  StageCounters counters({"a"}, 2);
  const auto distance =
      reinterpret_cast<const char*>(&counters.worker(1)) - reinterpret_cast<const char*>(&counters.worker(0));
  CHECK(reinterpret_cast<std::uintptr_t>(&counters.worker(0)) % 64 == 0);
  CHECK(distance % 64 == 0);
}
