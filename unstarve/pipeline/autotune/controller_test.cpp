#include "unstarve/pipeline/autotune/controller.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <thread>

#include "unstarve/pipeline/autotune/consumer_clock.h"
#include "unstarve/pipeline/autotune/worker_gate.h"

namespace unstarve::autotune {
namespace {

using Catch::Matchers::Contains;

// One second of a loader with given CPU and sleep times per sample; the consumer waits unless it works.
Profile window(double cpu_s, double sleep_s, const Settings& settings, double consumer_s = 0, double seconds = 1) {
  const double rate = settings.threads / (cpu_s + sleep_s);
  const auto samples = static_cast<std::int64_t>(rate * seconds);
  const auto n = static_cast<double>(samples);
  Profile profile;
  profile.wall_ns = std::llround(seconds * 1e9);
  profile.batch_samples = 256;
  profile.batch_bytes = 1000;
  profile.loader_threads = settings.threads;
  profile.prefetch_batches = settings.prefetch;
  const double us = (cpu_s + sleep_s) * 1e6;
  profile.stages = {{"read", samples, std::llround(n * (cpu_s + sleep_s) * 1e9), samples, std::llround(n * cpu_s * 1e9),
                     n * us * us}};
  profile.consumer.batches = 4;
  profile.consumer.busy_ns = std::llround(4e9 * consumer_s);
  profile.consumer.squares_us2 = 4 * consumer_s * consumer_s * 1e12;
  profile.consumer.wait_ns = consumer_s > 0 ? 0 : profile.wall_ns;
  return profile;
}

constexpr Limits kTwoCores{.cores = 2};

TEST_CASE("a cold start is tuned in the first window, and windows grow longer") {
  Controller controller({2, 2, 0}, kTwoCores);
  CHECK(controller.period_s() < 0.1);
  const Settings settings = controller.consider(window(1e-5, 1e-2, {2, 2, 0}), 0.05);
  CHECK(settings.threads == 64);
  REQUIRE(controller.log().size() == 2);
  CHECK_THAT(controller.log()[0].reason, Contains("initial settings"));
  CHECK(controller.log()[1].threads == 64);
  CHECK(controller.log()[1].seconds == 0.05);
  for (int i = 0; i < 20; ++i) (void)controller.consider(window(1e-5, 1e-2, settings), 0.1 + i);
  CHECK(controller.period_s() >= 1);
  CHECK(controller.settings() == settings);
  CHECK(controller.log().size() == 2);
}

TEST_CASE("later, one unusual window changes nothing, two consistent windows do") {
  Controller controller({2, 2, 0}, kTwoCores);
  (void)controller.consider(window(1e-3, 0, {2, 2, 0}), 1);
  CHECK(controller.settings().threads == 2);
  (void)controller.consider(window(1e-3, 1, {2, 2, 0}, 0, 60), 3);  // as after the process was stopped
  CHECK(controller.settings().threads == 2);
  (void)controller.consider(window(1e-3, 0, {2, 2, 0}), 4);
  (void)controller.consider(window(1e-3, 0, {2, 2, 0}, 1), 5);  // the consumer is slow now
  CHECK(controller.settings().threads == 2);
  (void)controller.consider(window(1e-3, 0, {2, 2, 0}, 1), 6);
  CHECK(controller.settings().threads == 1);
  (void)controller.consider(window(1e-3, 0, {1, 2, 0}), 7);  // fast again
  (void)controller.consider(window(1e-3, 0, {1, 2, 0}), 8);
  CHECK(controller.settings().threads == 2);
}

constexpr Limits kReadable{.cores = 2, .max_read_ahead = 64};

// One second of two threads that compute 0.2 ms per sample, with a read latency of `read_ahead_s`.
Profile ahead_window(double read_ahead_s, const Settings& settings) {
  Profile profile = window(2e-4, 0, settings);
  const double rate = std::min(settings.threads / 2e-4, settings.read_ahead / read_ahead_s);
  const auto samples = static_cast<std::int64_t>(rate);
  profile.stages[0] = {"decode", samples, samples * 200'000, samples, samples * 200'000, 0};
  profile.stages.push_back({"read_ahead", samples, std::llround(rate * read_ahead_s * 1e9), samples, 0, 0});
  profile.read_ahead = settings.read_ahead;
  return profile;
}

TEST_CASE("read-ahead starts in the first window if reads wait, later after two consistent windows") {
  Controller cold({2, 2, 0}, kReadable);
  CHECK(cold.consider(window(2e-4, 1e-2, {2, 2, 0}), 0.05).read_ahead == 64);
  CHECK(cold.settings().threads == 2);

  Controller warm({2, 2, 0}, kReadable);
  for (int i = 0; i < 4; ++i) CHECK(warm.consider(window(2e-4, 0, {2, 2, 0}), 1 + i).read_ahead == 0);
  CHECK(warm.consider(window(2e-4, 1e-2, {2, 2, 0}), 5).read_ahead == 0);  // later records are not in the page cache
  CHECK(warm.consider(window(2e-4, 1e-2, {2, 2, 0}), 6).read_ahead == 64);
  CHECK_THAT(warm.log().back().reason, Contains("read-ahead starts: worker threads wait"));
}

TEST_CASE("reads in flight reduced by a warm page cache increase when it gets cold") {
  Settings now{2, 2, 64};
  Controller controller(now, kReadable);
  double at = 3;
  const auto second = [&](double read_ahead_s) { now = controller.consider(ahead_window(read_ahead_s, now), at++); };
  second(2e-5);
  second(2e-5);
  CHECK(now.read_ahead == 4);
  for (int i = 0; i < 3; ++i) second(2e-5);
  CHECK(now.read_ahead == 4);
  second(5e-3);
  second(5e-3);
  CHECK(now.read_ahead > 48);  // 10,000 samples/s of 5 ms each
  for (int i = 0; i < 3; ++i) second(5e-3);
  CHECK(now.read_ahead > 48);
  // A disk whose latency grows with the number of reads in flight.
  for (int i = 0; i < 4; ++i) second(2e-5);
  CHECK(now.read_ahead == 4);
  for (int i = 0; i < 6; ++i) second(std::max(5e-4, now.read_ahead / 8000.0));
  CHECK(now.read_ahead >= 8);
}

// The same with readers that did not sleep.
Profile awake_window(const Settings& settings) {
  Profile profile = ahead_window(2e-5, settings);
  profile.stages.back().cpu_ns = profile.stages.back().awake_ns = profile.stages.back().busy_ns;
  return profile;
}

TEST_CASE("read-ahead runs for a first epoch from disk, stops for epochs from memory, and restarts for the disk") {
  constexpr Limits kEnds{.cores = 2, .max_read_ahead = 64, .may_stop_read_ahead = true};
  Settings now{2, 2, 64};
  Controller controller(now, kEnds);
  double at = 0.05;
  const auto second = [&](bool cold) {
    const Profile waits = now.read_ahead > 0 ? ahead_window(5e-3, now) : window(2e-4, 1e-2, now);
    const Profile warm = now.read_ahead > 0 ? awake_window(now) : window(2e-4, 0, now);
    now = controller.consider(cold ? waits : warm, at++);
  };
  for (int i = 0; i < 5; ++i) second(true);
  CHECK(now.read_ahead > 48);
  second(false);
  CHECK(now.read_ahead > 0);  // one window is not enough
  second(true);
  second(false);
  CHECK(now.read_ahead > 0);
  second(false);
  CHECK(now.read_ahead == 0);
  CHECK_THAT(controller.log().back().reason, Contains("read-ahead stops: readers wait only"));
  const std::size_t logged = controller.log().size();
  for (int i = 0; i < 10; ++i) second(false);
  CHECK(now == Settings{2, 2, 0});
  CHECK(controller.log().size() == logged);
  // Records leave the page cache and return to it: read-ahead does not stop again for 30 seconds.
  second(true);
  second(true);
  CHECK(now.read_ahead > 0);
  for (int i = 0; i < 29; ++i) second(false);
  CHECK(now.read_ahead > 0);
  for (int i = 0; i < 3; ++i) second(false);
  CHECK(now.read_ahead == 0);
}

TEST_CASE("two windows are needed to stop read-ahead, even at the start") {
  Controller controller({2, 2, 64}, {.cores = 2, .max_read_ahead = 64, .may_stop_read_ahead = true});
  CHECK(controller.consider(awake_window({2, 2, 64}), 0.05).read_ahead > 0);
  CHECK(controller.consider(awake_window(controller.settings()), 0.1).read_ahead == 0);
}

TEST_CASE("threads continue alone if read-ahead is not available") {
  Controller controller({2, 2, 0}, kReadable);
  CHECK(controller.consider(window(2e-4, 1e-2, {2, 2, 0}), 0.05).read_ahead == 64);
  controller.disable_read_ahead(0.05, "no threads");
  CHECK(controller.settings().read_ahead == 0);
  const Settings alone = controller.consider(window(2e-4, 1e-2, {2, 2, 0}), 0.2);
  CHECK(alone.read_ahead == 0);
  CHECK(alone.threads > 16);
}

TEST_CASE("a consumer with few batches per window is measured over several windows") {
  Controller controller({2, 2, 0}, kTwoCores);
  const auto slow = [](std::int64_t batches) {
    Profile profile = window(1e-3, 0, {2, 2, 0}, 1);
    profile.consumer.batches = batches;
    profile.consumer.busy_ns = batches * 1'000'000'000;
    profile.consumer.squares_us2 = static_cast<double>(batches) * 1e12;
    return profile;
  };
  (void)controller.consider(slow(1), 3);
  (void)controller.consider(slow(0), 4);  // no batches: the previous profile applies
  CHECK(controller.settings().threads == 1);
}

TEST_CASE("threads without effect are removed for a while") {
  Controller controller({8, 2, 0}, kTwoCores);
  // A server limited to 800 samples per second in total: more threads wait longer.
  const auto server = [](const Settings& s) { return window(1e-6, s.threads / 800.0, s); };
  double now = 10;
  for (; controller.settings().threads == 8 && now < 20; ++now) (void)controller.consider(server({8, 2, 0}), now);
  REQUIRE(controller.settings().threads == 64);
  for (int i = 0; i < 3; ++i) (void)controller.consider(server(controller.settings()), ++now);
  CHECK(controller.settings().threads == 8);
  CHECK_THAT(controller.log().back().reason, Contains("the storage is saturated"));
  for (int i = 0; i < 10; ++i) (void)controller.consider(server(controller.settings()), ++now);
  CHECK(controller.settings().threads == 8);
  now += 60;
  for (int i = 0; i < 2; ++i) (void)controller.consider(server(controller.settings()), ++now);
  CHECK(controller.settings().threads == 64);
}

TEST_CASE("a window without samples changes nothing, and the log is bounded") {
  Controller controller({2, 2, 0}, kTwoCores);
  CHECK(controller.consider(Profile{}, 1) == Settings{2, 2, 0});
  double now = 10;
  for (int i = 0; i < 200; ++i)
    (void)controller.consider(window(1e-3, 0, controller.settings(), i / 4 % 2 == 0 ? 2 : 0), ++now);
  CHECK(controller.log().size() == Controller::kLogged + 1);
  CHECK_THAT(controller.log()[0].reason, Contains("initial settings"));
}

TEST_CASE("no more threads are requested once the system rejects them") {
  Controller controller({2, 2, 0}, kTwoCores);
  (void)controller.consider(window(1e-5, 1e-2, {2, 2, 0}), 0.05);
  controller.limit_threads(5, 0.06, "the system gives no more");
  CHECK(controller.settings().threads == 5);
  (void)controller.consider(window(1e-5, 1e-2, {5, 2, 0}), 0.2);
  CHECK(controller.settings().threads == 5);
  CHECK(controller.log().back().reason == "the system gives no more");
}

TEST_CASE("a reduced memory budget applies immediately") {
  Controller controller({2, 20, 0}, {.cores = 2, .byte_budget = 10'000});
  (void)controller.consider(window(1e-3, 0, {2, 20, 0}, 0.1), 10);
  CHECK((controller.settings().prefetch + 2) * 1000 <= 10'000);
}

TEST_CASE("the consumer clock separates work, waits and pauses") {
  ConsumerClock clock;
  std::int64_t now = 0;
  clock.enter(now);
  clock.leave(now, true);                             // after the first batch: start-up of the consumer
  CHECK(clock.profile(now + 1'000'000).pauses == 1);  // in progress
  CHECK(clock.profile(now + 1'000'000).paused_ns == 1'000'000);
  now += 30'000'000'000;
  for (int i = 0; i < 10; ++i) {
    clock.enter(now);
    clock.leave(now += 1'000'000, true);
    now += 10'000'000;
  }
  clock.enter(now);
  ConsumerProfile profile = clock.profile(now + 500'000);
  CHECK(profile.batches == 10);
  CHECK(profile.busy_ns == 100'000'000);
  CHECK(profile.squares_us2 == Approx(10 * 1e8));
  CHECK(profile.wait_ns == 10'500'000);
  clock.leave(now += 500'000, false);  // no batch: the time until the next call is not work
  clock.enter(now += 7'000'000);
  clock.leave(now, true);
  // A long absence is a pause while it lasts, and the same pause afterwards.
  CHECK(clock.profile(now + 190'000'000).pauses == 1);
  CHECK(clock.profile(now + 210'000'000).pauses == 2);
  CHECK(clock.profile(now + 210'000'000).paused_ns == 30'210'000'000);
  CHECK(clock.profile(now + 4'000'000'000).paused_ns == 34'000'000'000);
  now += 5'000'000'000;
  clock.enter(now);
  profile = clock.profile(now);
  CHECK(profile.batches == 10);
  CHECK(profile.wait_ns == 10'500'000);
  CHECK(profile.pauses == 2);
  CHECK(profile.paused_ns == 35'000'000'000);
  // If every step takes this long, it is work.
  for (int i = 0; i < 10; ++i) {
    clock.leave(now, true);
    clock.enter(now += 5'000'000'000);
  }
  CHECK(clock.profile(now).batches >= 19);
}

TEST_CASE("an announced pause counts as one, however short, and later steps do not") {
  ConsumerClock clock;
  std::int64_t now = 0;
  const auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) {
      clock.enter(now);
      clock.leave(now, true);
      now += 10'000'000;
    }
  };
  steps(10);
  const ConsumerProfile before = clock.profile(now);
  clock.pause();
  CHECK(clock.profile(now + 30'000'000).pauses == before.pauses + 1);
  now += 20'000'000;
  clock.enter(now);
  clock.leave(now, true);
  now += 10'000'000;
  steps(1);
  const ConsumerProfile after = clock.profile(now);
  CHECK(after.pauses == before.pauses + 1);
  CHECK(after.paused_ns == before.paused_ns + 30'000'000);
  CHECK(after.batches == before.batches + 1);
  CHECK(after.busy_ns == before.busy_ns + 10'000'000);
}

TEST_CASE("a gate pauses the workers above its number until it opens or closes") {
  WorkerGate gate(2);
  CHECK(gate.enter(0));
  CHECK(gate.enter(1));
  gate.set(1);
  CHECK(gate.enter(0));
  bool entered = false;
  std::thread worker([&] { entered = gate.enter(1); });
  gate.set(2);
  worker.join();
  CHECK(entered);
  std::thread stopped([&] { entered = gate.enter(5); });
  gate.close();
  stopped.join();
  CHECK_FALSE(entered);
  CHECK_FALSE(gate.enter(0));
}

}  // namespace
}  // namespace unstarve::autotune
