#include "unstarve/pipeline/autotune/model.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <utility>

#include "unstarve/core/error.h"

namespace unstarve::autotune {
namespace {

Load sleeper(double cpu_s, double sleep_s) {
  Load load;
  load.cpu_s = cpu_s;
  load.sleep_s = sleep_s;
  load.batch_samples = 256;
  return load;
}

TEST_CASE("a profile's stages become the load of one sample") {
  Profile profile;
  profile.samples = 100;
  profile.batch_samples = 50;
  profile.batch_bytes = 5000;
  profile.stages = {{"read", 100, 100'000'000, 20'000, 20'000'000, 100.0 * 1000 * 1000 * 2},
                    {"decode", 100, 300'000'000, 90'000, 300'000'000, 100.0 * 3000 * 3000},
                    {"wait", 100, 900'000'000, 0, 0, 0}};
  profile.run_delay_ns = 30'000'000;
  profile.consumer = {2, 40'000'000, 2.0 * 20'000 * 20'000, 7, 0, 0};
  const Load load = load_of(profile);
  CHECK(load.cpu_s == Approx(3.2e-3));
  CHECK(load.delay_s == Approx(0.3e-3));
  CHECK(load.sleep_s == Approx(0.5e-3));
  CHECK(load.spread == Approx(1.0 / 16));  // the variance of "read" is (1 ms)^2, the mean 4 ms
  CHECK(load.worker_bytes == Approx(1100));
  CHECK(load.record_bytes == Approx(200));
  CHECK(load.consumer_s == Approx(20e-3));
  CHECK(load.consumer_spread == Approx(0).margin(1e-9));

  // Waiting for readers does not count for a worker.
  profile.run_delay_ns = 0;
  profile.stages.push_back({"read_ahead", 100, 6'400'000'000, 20'000, 10'000'000});
  const Load ahead = load_of(profile);
  CHECK(ahead.sleep_s == Approx(0).margin(1e-9));
  CHECK(ahead.readers.latency_s == Approx(64e-3));
  CHECK(ahead.readers.sleep_s == Approx(64e-3));  // upper bound
  profile.stages.back().awake_ns = 5'400'000'000;
  CHECK(load_of(profile).readers.sleep_s == Approx(10e-3));

  CHECK_THROWS_AS(load_of(Profile{}), Error);
}

TEST_CASE("threads with a core each add up, and the cores bound compute-bound threads") {
  CHECK(threads_rate(sleeper(1e-3, 0), 1, 4) == Approx(1000));
  CHECK(threads_rate(sleeper(1e-3, 0), 4, 4) == Approx(4000));
  CHECK(threads_rate(sleeper(1e-3, 0), 9, 4) == Approx(4000));
  CHECK(threads_rate(sleeper(0, 5e-3), 64, 2) == Approx(12'800));
}

TEST_CASE("the machine-repairman model matches its closed form for one server") {
  // M/M/1//N: busy = 1 - 1 / sum_k N! / (N - k)! (c / w)^k.
  const Load load = sleeper(1e-3, 4e-3);
  for (int n : {2, 5, 20}) {
    double term = 1, sum = 1;
    for (int k = 1; k <= n; ++k) sum += term *= (n - k + 1) * 0.25;
    CHECK(threads_rate(load, n, 1) == Approx((1 - 1 / sum) / 1e-3));
  }
  // Below both asymptotes, close to them at the ends, and increasing.
  double before = 0;
  for (int n = 1; n <= 64; ++n) {
    const double rate = threads_rate(load, n, 2);
    CHECK(rate <= std::min(n / 5e-3, 2 / 1e-3) * (1 + 1e-12));
    CHECK(rate >= before * (1 - 1e-12));
    before = rate;
  }
  CHECK(before == Approx(2000).epsilon(1e-3));
  CHECK(std::isfinite(threads_rate(sleeper(1e-3, 1e-9), 1024, 2)));
}

TEST_CASE("the probability of an empty queue is that of M/M/1/K, and lower for less varying times") {
  CHECK(empty_chance(1, 0, 2, 2) == 0);
  CHECK(empty_chance(0, 1, 2, 2) == 1);
  CHECK(empty_chance(1, 1, 2, 2) == Approx(1.0 / 3));
  CHECK(empty_chance(1, 1, 8, 2) == Approx(1.0 / 9));
  CHECK(empty_chance(10, 8, 2, 2) == Approx(0.2623).epsilon(1e-3));
  CHECK(empty_chance(10, 8, 8, 2) == Approx(0.0388).epsilon(1e-2));
  CHECK(empty_chance(8, 10, 8, 2) == Approx(0.2310).epsilon(1e-3));
  CHECK(empty_chance(10, 8, 2, 0.1) < 1e-3);
  CHECK(empty_chance(10, 8, 2, 0) == Approx(0).margin(1e-12));
  CHECK(empty_chance(8, 10, 2, 0) == Approx(0.2));
}

TEST_CASE("a window of few samples bounds many threads, and stragglers require a larger one") {
  Load load = sleeper(1e-6, 1e-2);
  load.batch_samples = 8;
  CHECK(loader_rate(load, 64, 2, 2) < 0.2 * loader_rate(load, 64, 32, 2));
  CHECK(loader_rate(load, 64, 64, 2) == Approx(threads_rate(load, 64, 2)).epsilon(0.001));
  const double even = window_batches(load, 1000);
  load.spread = 25;  // one sample in a hundred takes a hundred times as long
  CHECK(window_batches(load, 1000) == Approx(26 * even));
}

TEST_CASE("the model predicts the measured rates of threads with stragglers") {
  // Reads of 1 ms, one in a hundred of 100 ms; 32 prefetched batches of 64, two cores (bench/autotune.py
  // straggling).
  Load load = sleeper(7e-6, 1.97e-3);
  load.batch_samples = 64;
  load.spread = 21.6;
  for (const auto& [threads, measured] :
       {std::pair(16, 8637), std::pair(32, 15643), std::pair(45, 19865), std::pair(64, 21211)})
    CHECK(loader_rate(load, threads, 32, 2) == Approx(measured).epsilon(0.07));
  double before = 0;
  for (int threads = 1; threads <= 64; ++threads) {
    const double rate = loader_rate(load, threads, 32, 2);
    CHECK(rate > before);
    CHECK(rate < threads_rate(load, threads, 2));
    before = rate;
  }
}

TEST_CASE("a consumer waits if the loader is slower, and for every batch without prefetch") {
  Load load = sleeper(1e-3, 0);
  load.consumer_s = 0.1;
  CHECK(consumer_wait(load, 1000, 0) == Approx(0.256));
  CHECK(consumer_wait(load, 1000, 2) == Approx(1.1 * 0.256 - 0.1));
  CHECK(consumer_wait(load, 10'000, 2) < 1e-6);
}

}  // namespace
}  // namespace unstarve::autotune
