#include "unstarve/jobs/capacity/accelerator_group.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "unstarve/core/testing/error_message.h"

namespace unstarve {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// The time of each thread passes on its own, so that results do not depend on the machine.
class ThreadClock final : public Clock {
 public:
  ThreadClock() { now = 0; }
  [[nodiscard]] std::int64_t now_ns() const override { return now; }
  void sleep_until(std::int64_t deadline_ns) override {
    if (deadline_ns > now) now = deadline_ns + oversleep_ns;
  }
  static thread_local std::int64_t now;
  std::int64_t oversleep_ns = 0;
};
thread_local std::int64_t ThreadClock::now = 0;

// A feed whose batch is ready after `wait_ns`, by the clock of the consumer; every third one after `third_ns` more.
class ScriptedFeed final : public BatchFeed {
 public:
  ScriptedFeed(std::int64_t wait_ns, std::int64_t third_ns = 0) : wait_ns_(wait_ns), third_ns_(third_ns) {}
  Taken take() override {
    const std::int64_t number = taken++;
    if (number >= fail_at) throw Error(ErrorKind::kInput, "damaged");
    const std::int64_t wait = wait_ns_ + (number % 3 == 2 ? third_ns_ : 0);
    ThreadClock::now += wait;
    return closed ? Taken::kClosed : wait > 0 ? Taken::kWaited : Taken::kReady;
  }
  void close() override { closed = true; }
  std::atomic<std::int64_t> taken{0};
  std::atomic<bool> closed{false};
  std::int64_t fail_at = 1'000'000'000;

 private:
  const std::int64_t wait_ns_, third_ns_;
};

// 10 samples in 10 ms.
constexpr AcceleratorModel kModel{"test", 10, 10 * kMs, 1000, 0.9, true};

TEST_CASE("an accelerator whose batches are ready is always busy, and late wake-ups of its thread are no loss") {
  ThreadClock clock;
  clock.oversleep_ns = 3 * kMs;
  ScriptedFeed feed(0);
  const AcceleratorUse use = run_accelerators(kModel, {1, 1, 1.0, 10}, feed, clock);
  CHECK(use.utilisation == Approx(1));
  CHECK(use.lowest == Approx(1));
  CHECK(use.samples_per_s == Approx(1000));
  CHECK(use.steps == 99);  // the first of 100 is not counted
}

TEST_CASE("an emulation that is late by more than a tick of the scheduler is a loss") {
  ThreadClock clock;
  clock.oversleep_ns = 14 * kMs;
  ScriptedFeed feed(0);
  CHECK(run_accelerators(kModel, {1, 1, 1.0, 10}, feed, clock).utilisation == Approx(0.5));
}

TEST_CASE("waiting for batches is a loss") {
  ThreadClock clock;
  ScriptedFeed feed(10 * kMs);
  const AcceleratorUse use = run_accelerators(kModel, {1, 1, 1.0, 10}, feed, clock);
  CHECK(use.utilisation == Approx(0.5));
  CHECK(use.samples_per_s == Approx(500));
}

TEST_CASE("a smaller batch takes less time") {
  ThreadClock clock;
  ScriptedFeed feed(5 * kMs);
  CHECK(run_accelerators(kModel, {1, 1, 1.0, 5}, feed, clock).utilisation == Approx(0.5));
}

TEST_CASE("accelerators of one job wait for the last one, others do not") {
  ThreadClock clock;
  {
    // Every third batch is late by 10 ms. With three accelerators one of them is late in each step.
    ScriptedFeed feed(0, 10 * kMs);
    const AcceleratorUse use = run_accelerators(kModel, {3, 3, 3.0, 10}, feed, clock);
    CHECK(use.utilisation == Approx(0.5).epsilon(0.02));
    CHECK(use.lowest == Approx(use.utilisation));
    CHECK(use.steps % 3 == 0);  // all stop after the same step
  }
  ScriptedFeed feed(0, 10 * kMs);
  const AcceleratorUse apart = run_accelerators(kModel, {1, 1, 3.0, 10}, feed, clock);
  CHECK(apart.utilisation == Approx(0.75).epsilon(0.02));
}

TEST_CASE("the last job may have fewer accelerators") {
  ThreadClock clock;
  ScriptedFeed feed(0);
  const AcceleratorUse use = run_accelerators(kModel, {5, 2, 0.5, 10}, feed, clock);
  CHECK(use.utilisation == Approx(1));
  CHECK(use.samples_per_s == Approx(5000));
}

TEST_CASE("a few steps are counted however short the time is") {
  ThreadClock clock;
  ScriptedFeed feed(0);
  CHECK(run_accelerators(kModel, {1, 1, 0.001, 10}, feed, clock).steps == kLeastSteps);
}

TEST_CASE("an error of the feed ends all accelerators and is thrown") {
  ThreadClock clock;
  ScriptedFeed feed(1 * kMs);
  feed.fail_at = 50;
  CHECK(testing::error_message(
            [&] {
              (void)run_accelerators(kModel, {4, 4, 1000.0, 10}, feed, clock);
            },
            ErrorKind::kInput) == "damaged");
}

TEST_CASE("a closed feed ends all accelerators") {
  ThreadClock clock;
  ScriptedFeed feed(0);
  feed.closed = true;
  const AcceleratorUse use = run_accelerators(kModel, {2, 1, 1000.0, 10}, feed, clock);
  CHECK(use.steps == 0);
  CHECK(use.utilisation == 0);
}

}  // namespace
}  // namespace unstarve
