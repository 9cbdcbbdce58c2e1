#include "unstarve/storage/formats/synthetic/sleep_source.h"

#include <atomic>
#include <barrier>
#include <thread>

#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/conformance.h"

namespace unstarve {
namespace {

TEST_CASE("a sleep source passes the conformance suite") {
  testing::DatasetUnderTest test;
  test.make = [](std::uint64_t samples) { return std::make_shared<SleepSource>(SleepOptions{0, samples, 8}); };
  testing::check_dataset(test);
}

// A clock that advances only by sleeps, and counts them.
class RecordingClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const override { return now_; }
  void sleep_until(std::int64_t deadline_ns) override {
    ++sleeps_;
    now_ = deadline_ns;
  }
  [[nodiscard]] int sleeps() const { return sleeps_; }

 private:
  std::atomic<std::int64_t> now_{1000};
  std::atomic<int> sleeps_{0};
};

TEST_CASE("every read sleeps once for the given time") {
  RecordingClock clock;
  const SleepSource source({5'000'000, 10, 8}, clock);
  RecordBuffer record;
  source.read(3, record);
  source.read(9, record);
  CHECK(clock.sleeps() == 2);
  CHECK(clock.now_ns() == 1000 + 2 * 5'000'000);
  CHECK(record.values[1].integer == 9);
}

TEST_CASE("with once=1 only the first read of a record sleeps") {
  RecordingClock clock;
  SleepOptions options{5'000'000, 10, 8};
  options.once = true;
  const SleepSource source(options, clock);
  RecordBuffer record;
  for (const std::uint64_t id : {3, 9, 3, 9, 3}) source.read(id, record);
  CHECK(clock.sleeps() == 2);
  CHECK(open_dataset("sleep:images=7,once=1")->size() == 7);
  CHECK_THROWS_AS(open_dataset("sleep:images=16777217,once=1"), Error);
}

TEST_CASE("stragglers are the same records every time, in about the requested number") {
  RecordingClock clock;
  SleepOptions options{1000, 2000, 8};
  options.straggle_every = 10;
  options.straggle_ns = 1'000'000;
  const SleepSource source(options, clock);
  RecordBuffer record;
  const auto slept = [&](std::uint64_t id) {
    const std::int64_t before = clock.now_ns();
    source.read(id, record);
    return clock.now_ns() - before;
  };
  int stragglers = 0;
  for (std::uint64_t id = 0; id < 2000; ++id) {
    const std::int64_t ns = slept(id);
    CHECK(ns == slept(id));
    if (ns != 1000) ++stragglers;
  }
  CHECK(stragglers > 120);
  CHECK(stragglers < 280);
  CHECK(open_dataset("sleep:us=50,straggle_every=9,straggle_ms=2")->format() == "sleep");
}

// A clock whose sleepers wake only after all of them have called it.
class BarrierClock final : public Clock {
 public:
  explicit BarrierClock(std::ptrdiff_t sleepers) : all_here_(sleepers) {}
  [[nodiscard]] std::int64_t now_ns() const override { return 0; }
  void sleep_until(std::int64_t) override { all_here_.arrive_and_wait(); }

 private:
  std::barrier<> all_here_;
};

TEST_CASE("readers sleep concurrently") {
  BarrierClock clock(8);
  const SleepSource source({5'000'000, 8, 8}, clock);
  std::atomic<int> done{0};
  std::vector<std::jthread> readers;
  for (std::uint64_t id = 0; id < 8; ++id) {
    readers.emplace_back([&, id] {
      RecordBuffer record;
      source.read(id, record);
      ++done;
    });
  }
  readers.clear();  // would never return if a lock were held during the sleep
  CHECK(done == 8);
}

TEST_CASE("the options of a sleep source are parsed from its name") {
  const auto data = open_dataset("sleep:images=7,size=16,ms=0");
  CHECK(data->size() == 7);
  CHECK(data->stored_bytes() == 7 * 16 * 16 * 3);
  CHECK(data->format() == "sleep");
  CHECK_THROWS_AS(SleepSource({0, 1, 0}), Error);
  CHECK_THROWS_AS(SleepSource({-1, 1, 8}), Error);
}

}  // namespace
}  // namespace unstarve
