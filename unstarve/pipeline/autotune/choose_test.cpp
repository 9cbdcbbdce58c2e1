#include "unstarve/pipeline/autotune/choose.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "unstarve/core/random.h"

namespace unstarve::autotune {
namespace {

using Catch::Matchers::Contains;

constexpr double kMs = 1e-3;

struct Case {
  double cpu_s = 1 * kMs, sleep_s = 0, spread = 0, consumer_s = 0, consumer_spread = 0;
  int batch = 256;
};

Profile profile_of(const Case& c) {
  constexpr std::int64_t kSamples = 10'000;
  const double mean = c.cpu_s + c.sleep_s;
  Profile profile;
  profile.samples = kSamples;
  profile.batch_samples = c.batch;
  profile.batch_bytes = std::int64_t{150'528} * c.batch;
  profile.loader_threads = 2;
  const auto ns = [](double s) { return std::llround(s * 1e9 * kSamples); };
  profile.stages = {{"read", kSamples, ns(c.sleep_s), kSamples * 100'000, 0, 0},
                    {"decode", kSamples, ns(c.cpu_s), kSamples * 500'000, ns(c.cpu_s), 0}};
  // The spread as if all variance were in one stage.
  StageProfile& stage = profile.stages[c.sleep_s > c.cpu_s ? 0 : 1];
  const double own = static_cast<double>(stage.busy_ns) / kSamples * 1e-3;
  stage.squares_us2 = kSamples * (own * own + c.spread * mean * mean * 1e12);
  for (StageProfile& other : profile.stages)
    if (&other != &stage) {
      const double us = static_cast<double>(other.busy_ns) / kSamples * 1e-3;
      other.squares_us2 = kSamples * us * us;
    }
  profile.consumer.batches = 20;
  profile.consumer.busy_ns = std::llround(20 * c.consumer_s * 1e9);
  profile.consumer.squares_us2 = 20 * c.consumer_s * c.consumer_s * 1e12 * (1 + c.consumer_spread);
  return profile;
}

Choice tune(const Case& c, const Limits& limits) { return choose(profile_of(c), limits); }

TEST_CASE("a fast consumer: compute-bound samples get one thread per core") {
  for (int cores : {1, 2, 8, 64}) {
    const Choice choice = tune({}, {.cores = double(cores)});
    CHECK(choice.settings.threads == cores);
    CHECK_THAT(choice.reason, Contains("more threads than cores would not help"));
  }
  // A little sleep does not justify more.
  CHECK(tune({.sleep_s = 0.05 * kMs}, {.cores = 2}).settings.threads == 2);
}

TEST_CASE("samples that sleep get up to 64 threads on any number of cores") {
  CHECK(tune({.cpu_s = 0.01 * kMs, .sleep_s = 10 * kMs}, {.cores = 2}).settings.threads == 64);
  CHECK(tune({.cpu_s = 0.01 * kMs, .sleep_s = 10 * kMs}, {.cores = 2, .max_threads = 9}).settings.threads == 9);
  // Computing for 1 ms of 11: about 22 threads fill two cores, plus a few against variation.
  const int mixed = tune({.cpu_s = 1 * kMs, .sleep_s = 10 * kMs}, {.cores = 2}).settings.threads;
  CHECK(mixed > 22);
  CHECK(mixed < 44);
}

TEST_CASE("many threads need a prefetch of as many batches as their samples fill") {
  const Choice choice = tune({.cpu_s = 0.01 * kMs, .sleep_s = 10 * kMs, .batch = 8}, {.cores = 2});
  CHECK(choice.settings.threads >= 60);
  CHECK(choice.settings.prefetch >= 15);
  CHECK_THAT(choice.reason, Contains("absorbing the slowest samples takes"));
}

TEST_CASE("stragglers lead to more prefetch, not to more threads") {
  const Limits limits{.cores = 2};
  const Choice even = tune({.batch = 32}, limits);
  const Choice uneven = tune({.spread = 25, .batch = 32}, limits);
  CHECK(uneven.settings.threads == even.settings.threads);
  CHECK(uneven.settings.prefetch > even.settings.prefetch);
}

TEST_CASE("a slow consumer gets the fewest threads with which it does not wait") {
  const Limits limits{.cores = 16};
  // One thread makes a batch in 256 ms.
  CHECK(tune({.consumer_s = 1}, limits).settings.threads == 1);
  CHECK(tune({.consumer_s = 0.2}, limits).settings.threads == 2);
  CHECK(tune({.consumer_s = 0.05}, limits).settings.threads == 6);
  const Choice choice = tune({.consumer_s = 1}, limits);
  CHECK(choice.wait_share < 0.01);
  CHECK(choice.settings.prefetch == 2);
}

TEST_CASE("a consumer with varying steps gets more prefetch") {
  const Limits limits{.cores = 2};
  const int even = tune({.consumer_s = 0.15}, limits).settings.prefetch;
  CHECK(tune({.consumer_s = 0.15, .consumer_spread = 1}, limits).settings.prefetch > even);
}

TEST_CASE("CPU time used by others does not lead to more threads than cores") {
  Profile profile = profile_of({});
  profile.stages[1].busy_ns *= 2;  // runnable without a CPU for half of it
  profile.run_delay_ns = profile.stages[1].cpu_ns;
  const Choice choice = choose(profile, {.cores = 2});
  CHECK(choice.settings.threads == 2);
  CHECK_THAT(choice.reason, Contains("waiting for a CPU"));
}

TEST_CASE("reads in flight follow Little's law up to the limit") {
  Profile profile = profile_of({.consumer_s = 0.256});
  profile.stages.push_back({"read_ahead", 10'000, 200'000'000'000, 1'000'000'000, 10'000'000, 0});  // 20 ms each
  profile.read_ahead = 64;
  const Choice slow = choose(profile, {.cores = 4, .max_read_ahead = 128});
  CHECK(slow.settings.read_ahead == 25);  // 1000 samples/s x 20 ms x 1.25
  profile.consumer = {};
  const Choice fast = choose(profile, {.cores = 4, .max_read_ahead = 128});
  CHECK(fast.settings.read_ahead == 100);
  // If reads bound the rate, there are no threads that would only wait for them.
  const Choice bound = choose(profile, {.cores = 4, .max_read_ahead = 32});
  CHECK(bound.settings.read_ahead == 32);
  CHECK(bound.settings.threads == 2);
  CHECK(choose(profile, {.cores = 4}).settings.read_ahead == 0);
}

TEST_CASE("a fixed number of threads does not change, and reads in flight are autotuned") {
  const Limits given{
      .cores = 2, .cpu_budget = 1, .threads = 5, .min_prefetch = 3, .max_prefetch = 3, .max_read_ahead = 128};
  for (const double sleep_s : {0.0, 10 * kMs})
    for (const double consumer_s : {0.0, 0.05, 2.56}) {
      Profile profile = profile_of({.sleep_s = sleep_s, .consumer_s = consumer_s});
      profile.stages.push_back({"read_ahead", 10'000, 200'000'000'000, 1'000'000'000, 10'000'000, 0});  // 20 ms each
      profile.read_ahead = 64;
      const Choice choice = choose(profile, given);
      CHECK(choice.settings.threads == 5);
      CHECK(choice.settings.prefetch == 3);
      if (consumer_s > 1) CHECK(choice.settings.read_ahead == 4);  // 100 samples/s x 20 ms x 1.25, or the minimum
      if (consumer_s <= 0) CHECK(choice.settings.read_ahead > 4);
      if (choice.wait_share > 0.01) CHECK_THAT(choice.reason, Contains("the number of threads is fixed"));
    }
}

TEST_CASE("prefetch 0 set by the user is not changed") {
  CHECK(tune({.consumer_s = 0.1}, {.cores = 2, .min_prefetch = 0, .max_prefetch = 0}).settings.prefetch == 0);
}

TEST_CASE("the reason contains its figures") {
  const Choice choice = tune({.cpu_s = 1.5 * kMs, .sleep_s = 0.5 * kMs, .consumer_s = 0.4}, {.cores = 2});
  CHECK_THAT(choice.reason, Contains("1.5 ms of CPU time, 500 us waiting for data"));
  CHECK_THAT(choice.reason, Contains("consumer: 400 ms per batch of 256"));
  CHECK_THAT(choice.reason, Contains("2 batches prefetched"));
}

// Random loads over six decades.
Case random_case(Random& random) {
  const auto decades = [&](double least, double most) { return least * std::pow(most / least, random.uniform()); };
  Case c;
  c.cpu_s = decades(1e-6, 1e-1);
  c.sleep_s = random.below(3) == 0 ? 0 : decades(1e-6, 1);
  c.spread = random.below(2) == 0 ? 0 : decades(1e-2, 1e2);
  c.consumer_s = decades(1e-5, 10);
  c.consumer_spread = random.below(2) == 0 ? 0 : decades(1e-2, 10);
  c.batch = static_cast<int>(1 + random.below(512));
  return c;
}

TEST_CASE("properties over random loads: a faster consumer never gets fewer threads") {
  Random random(1, 2, 3, 4);
  for (int i = 0; i < 100; ++i) {
    Case c = random_case(random);
    const Limits limits{.cores = double(1 + random.below(64))};
    int threads = 0;
    for (double factor : {64.0, 8.0, 2.0, 1.0, 0.5, 0.1, 0.0}) {
      Case other = c;
      other.consumer_s *= factor;
      const Choice choice = tune(other, limits);
      INFO(choice.reason);
      CHECK(choice.settings.threads >= threads);
      threads = choice.settings.threads;
    }
  }
}

TEST_CASE("properties over random loads: budgets are not exceeded, and an idle consumer gets the minimum") {
  Random random(5, 6, 7, 8);
  for (int i = 0; i < 200; ++i) {
    const Case c = random_case(random);
    Limits limits{.cores = double(2 + random.below(64))};
    limits.cpu_budget = 1 + random.uniform() * (limits.cores - 1);
    const Profile profile = profile_of(c);
    const Load load = load_of(profile);
    const double least = judge(load, {1, limits.min_prefetch, 0}, limits).bytes;
    limits.byte_budget = least * (1 + 4 * random.uniform());
    const Choice choice = choose(profile, limits);
    INFO(choice.reason);
    CHECK(choice.bytes <= limits.byte_budget);
    CHECK(choice.settings.threads >= 1);
    CHECK(choice.settings.threads <= limits.max_threads);
    if (choice.settings.threads > 1)
      CHECK(threads_cores(load, choice.settings.threads, limits.cores) <= limits.cpu_budget * (1 + 1e-9));

    Case idle = c;
    idle.consumer_s = 1e6;
    idle.consumer_spread = 0;
    CHECK(tune(idle, limits).settings.threads == 1);
    CHECK(tune(idle, limits).settings.prefetch == limits.min_prefetch);

    // No setting within the budgets is better by more than the tolerance of 1 %.
    const double step = load.consumer_s + consumer_wait(load, choice.rate, choice.settings.prefetch);
    limits.cpu_budget = 0;
    limits.byte_budget = 0;
    const Choice free = choose(profile, limits);
    CHECK(load.consumer_s + consumer_wait(load, free.rate, free.settings.prefetch) <= 1.0101 * step);
  }
}

TEST_CASE("read-ahead starts only if threads wait for their records") {
  const Case waits{.cpu_s = 0.2 * kMs, .sleep_s = 10 * kMs};
  const Limits limits{.cores = 2, .max_read_ahead = 64};
  const Choice readers = tune(waits, limits);
  CHECK(readers.settings.threads == 2);
  CHECK(readers.settings.read_ahead == 64);
  CHECK(readers.rate == Approx(6400));
  CHECK_THAT(readers.reason,
             Contains("read-ahead starts: worker threads wait 10 ms per record") && Contains("64 reads in flight"));
  // As many reads as a slow consumer needs: 2,560 samples/s, 10 ms each.
  Case slow = waits;
  slow.consumer_s = 0.1;
  const Choice few = tune(slow, limits);
  CHECK(few.settings.threads == 1);
  CHECK(few.settings.read_ahead >= 26);
  CHECK(few.settings.read_ahead < 40);
  // Without read-ahead, more threads wait in parallel.
  const Choice threads = tune(waits, {.cores = 2});
  CHECK(threads.settings.threads == 64);
  CHECK(threads.settings.read_ahead == 0);
  // Samples that compute or sleep little need no readers.
  CHECK(tune({}, limits).settings.read_ahead == 0);
  CHECK(tune({.sleep_s = 0.05 * kMs}, limits).settings.read_ahead == 0);
  // Handing over records costs time: with a fixed thread, samples must sleep longer than that.
  const Limits alone{.cores = 1, .threads = 1, .max_read_ahead = 64};
  CHECK(tune({.sleep_s = 0.12 * kMs}, alone).settings.read_ahead == 0);
  CHECK(tune({.sleep_s = 0.4 * kMs}, alone).settings.read_ahead > 0);
}

TEST_CASE("starting read-ahead never makes the consumer's step longer than more threads would") {
  for (const double cpu : {0.01, 0.3, 3.0})
    for (const double sleep : {0.0, 0.1, 1.0, 30.0, 300.0})
      for (const double spread : {0.0, 4.0})
        for (const double consumer : {0.0, 1.0, 100.0})
          for (const int most : {4, 16, 64}) {
            const Case c{cpu * kMs, sleep * kMs, spread, consumer * kMs, 0, 64};
            const Limits limits{.cores = 2, .max_read_ahead = most};
            const Choice choice = tune(c, limits), threads = tune(c, {.cores = 2});
            const Load load = load_of(profile_of(c));
            const auto step = [&](const Choice& of) {
              return load.consumer_s + consumer_wait(load, of.rate, of.settings.prefetch);
            };
            CHECK(step(choice) <= 1.01 * step(threads) + 1e-12);
            CHECK(choice.settings.read_ahead <= most);
            if (choice.settings.read_ahead > 0) CHECK(load.sleep_s > 0);
          }
}

TEST_CASE("a window without finished reads changes neither reads nor threads") {
  Profile profile = profile_of({.cpu_s = 1 * kMs, .sleep_s = 20 * kMs});
  profile.read_ahead = 48;  // and no stage "read_ahead"
  const Choice choice = choose(profile, {.cores = 2, .max_read_ahead = 64});
  CHECK(choice.settings.read_ahead == 48);
  CHECK(choice.settings.threads == 2);
}

// Samples of 1 ms; a record takes readers `read_ahead_s`, of it `cpu_s` on a CPU. Readers are awake for the share
// `awake` of that time.
Profile with_readers(double read_ahead_s, double cpu_s, double awake, const Case& c = {}) {
  Profile profile = profile_of(c);
  const std::int64_t n = profile.samples;
  const auto ns = [&](double s) { return std::llround(s * 1e9 * static_cast<double>(n)); };
  profile.stages.push_back({"read_ahead", n, ns(read_ahead_s), n * 100'000, ns(cpu_s), 0, ns(read_ahead_s * awake)});
  profile.read_ahead = 16;
  return profile;
}

constexpr Limits kStopLimits{.cores = 2, .max_read_ahead = 64, .may_stop_read_ahead = true};

TEST_CASE("read-ahead stops if readers hardly sleep for their records") {
  const Choice ended = choose(with_readers(0.05 * kMs, 0.04 * kMs, 1), kStopLimits);
  CHECK(ended.settings.read_ahead == 0);
  CHECK(ended.settings.threads == 2);
  CHECK_THAT(ended.reason, Contains("read-ahead stops: readers wait only 0 us per record"));
  CHECK(choose(with_readers(0.05 * kMs, 0.04 * kMs, 0.9), kStopLimits).settings.read_ahead == 0);
  // A slow consumer does not need readers, which leaves cores to it.
  const Choice slow = choose(with_readers(0.05 * kMs, 0.04 * kMs, 1, {.consumer_s = 1}), kStopLimits);
  CHECK(slow.settings.read_ahead == 0);
  CHECK(slow.settings.threads == 1);
  // A disk, and one record in a hundred from a disk that takes 10 ms.
  CHECK(choose(with_readers(5 * kMs, 0.04 * kMs, 0), kStopLimits).settings.read_ahead > 0);
  CHECK(choose(with_readers(0.15 * kMs, 0.04 * kMs, 1.0 / 3), kStopLimits).settings.read_ahead > 0);
  // If the kernel does not count sleeps, all time may be sleep.
  CHECK(choose(with_readers(0.05 * kMs, 0.04 * kMs, 0), kStopLimits).settings.read_ahead > 0);
  // Not if it may not stop, and not in a window without finished reads.
  CHECK(choose(with_readers(0.05 * kMs, 0.04 * kMs, 1), {.cores = 2, .max_read_ahead = 64}).settings.read_ahead > 0);
  Profile nothing = profile_of({});
  nothing.read_ahead = 16;
  CHECK(choose(nothing, kStopLimits).settings.read_ahead == 16);
}

TEST_CASE("readers are kept if the consumer would wait for threads that also read") {
  Limits one = kStopLimits;
  one.threads = 1;
  CHECK(choose(with_readers(0.05 * kMs, 0.05 * kMs, 1), one).settings.read_ahead == 0);
  CHECK(choose(with_readers(0.5 * kMs, 0.5 * kMs, 1), one).settings.read_ahead > 0);
  // Not for a consumer that needs only one thread.
  CHECK(choose(with_readers(0.5 * kMs, 0.5 * kMs, 1, {.consumer_s = 1}), one).settings.read_ahead == 0);
}

TEST_CASE("a load that stops read-ahead does not start it, and vice versa") {
  for (const double cpu : {0.01, 0.3, 3.0})
    for (const double elsewhere : {0.0, 0.05, 0.2, 10.0})
      for (const double sleep : {0.0, 0.001, 0.01, 0.1, 1.0, 30.0})
        for (const double consumer : {0.0, 1.0, 100.0})
          for (const int threads : {0, 1, 4}) {
            Limits limits = kStopLimits;
            limits.threads = threads;
            // A sample also sleeps `elsewhere`, in decoding.
            const Case c{cpu * kMs, 0, 0, consumer * kMs, 0, 64};
            const auto also = [&](Profile profile, double record_s) {
              profile.stages[1].busy_ns += std::llround(elsewhere * kMs * 1e9 * static_cast<double>(profile.samples));
              profile.stages[0].busy_ns = std::llround(record_s * 1e9 * static_cast<double>(profile.samples));
              return profile;
            };
            const bool ends = choose(also(with_readers(sleep * kMs, 0, 0, c), 0), limits).settings.read_ahead == 0;
            const bool begins = choose(also(profile_of(c), sleep * kMs), limits).settings.read_ahead > 0;
            INFO(cpu << ' ' << elsewhere << ' ' << sleep << ' ' << consumer << ' ' << threads);
            CHECK_FALSE((ends && begins));
          }
}

}  // namespace
}  // namespace unstarve::autotune
