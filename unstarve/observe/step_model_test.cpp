#include "unstarve/observe/step_model.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <tuple>
#include <vector>

#include "unstarve/core/profile.h"

namespace unstarve {
namespace {

StepModel model(double load_s, double consume_s, int prefetch) {
  StepModel m;
  m.load_cpu_s = load_s;
  m.consume_s = consume_s;
  m.prefetch = prefetch;
  return m;
}

// Steps of a loader and a consumer with exponential times and a buffer, simulated event by event.
double simulated_step(double x, double y, int buffer, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> make(1 / y), use(1 / x);
  // The loader begins batch i when batch i - buffer was taken.
  constexpr int kBatches = 200'000;
  std::vector<double> taken(kBatches);
  double made = 0, free = 0;
  for (int i = 0; i < kBatches; ++i) {
    const double begin = i >= buffer ? std::max(made, taken[static_cast<std::size_t>(i - buffer)]) : made;
    made = begin + make(random);
    taken[static_cast<std::size_t>(i)] = std::max(made, free);
    free = taken[static_cast<std::size_t>(i)] + use(random);
  }
  return free / kBatches;
}

}  // namespace

TEST_CASE("Without prefetch the parts of a step add up, with it the slower part decides") {
  CHECK(step_seconds(model(2, 3, 0)) == Approx(5));
  CHECK(step_seconds(model(2, 3, 1)) == Approx(3));
  CHECK(step_seconds(model(4, 3, 8)) == Approx(4));
}

TEST_CASE("Threads divide the time of the loader, cores bound its CPU time") {
  StepModel m = model(8, 1, 2);
  m.threads = 4;
  CHECK(step_seconds(m) == Approx(2));
  m.cores = 2;
  CHECK(step_seconds(m) == Approx(4));
  m.consume_cpu_s = 2;  // both use the two cores
  CHECK(step_seconds(m) == Approx(5));
  m.load_wait_s = 32;  // waiting needs no core
  CHECK(step_seconds(m) == Approx(10));
}

TEST_CASE("Exponential times follow the M/M/1/K model, which agrees with a simulation") {
  for (const auto& [x, y, n] : {std::tuple{10.0, 8.0, 2}, {10.0, 8.0, 8}, {8.0, 10.0, 2}, {10.0, 10.0, 1}}) {
    StepModel m = model(y, x, n);
    m.variation = 1;
    CAPTURE(x, y, n);
    CHECK(step_seconds(m) == Approx(simulated_step(x, y, n, 7)).epsilon(0.06));
  }
}

TEST_CASE("The step takes at least its slowest part and at most all parts, whatever the model") {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> time(0, 10);
  for (int i = 0; i < 2000; ++i) {
    StepModel m = model(time(random), time(random), static_cast<int>(random() % 6));
    m.variation = time(random) / 10;
    const double step = step_seconds(m);
    CHECK(step >= std::max(m.load_cpu_s, m.consume_s) - 1e-9);
    CHECK(step <= m.load_cpu_s + m.consume_s + 1e-9);
    StepModel more = m;
    ++more.prefetch;
    CHECK(step_seconds(more) <= step + 1e-9);
  }
}

TEST_CASE("A predicted gain is within its interval, and the unexplained time lowers it") {
  const StepModel before = model(6, 2, 0);
  StepModel after = before;
  after.threads = 3;
  const GainPrediction exact = predict_gain(before, after, 8);
  CHECK(exact.gain == Approx(2));
  CHECK(exact.low == Approx(2));
  CHECK(exact.high == Approx(2));
  const GainPrediction with_rest = predict_gain(before, after, 10);  // 2 s are not explained
  CHECK(with_rest.gain == Approx(2));
  CHECK(with_rest.low == Approx(10.0 / 6));
  CHECK(with_rest.high == Approx(2));
  CHECK_FALSE(predict_gain({}, {}, 1).known());
}

TEST_CASE("A change of one side gains at most what the other side leaves") {
  const StepModel m = model(6, 2, 0);
  CHECK(bound_gain(m, StepSide::kConsumer, 8).high == Approx(8.0 / 6));
  CHECK(bound_gain(m, StepSide::kLoader, 8).high == Approx(4));
  CHECK(bound_gain(model(6, 2, 4), StepSide::kConsumer, 6).high == Approx(1));
}

TEST_CASE("The model of a profile has its times per batch") {
  Profile profile;
  profile.batch_samples = 10;
  profile.loader_threads = 2;
  profile.prefetch_batches = 3;
  profile.stages = {{"read", 100, 50'000'000, 0, 20'000'000, 0, 0},
                    {"decode", 100, 400'000'000, 0, 400'000'000, 0, 0},
                    {"wait", 100, 900'000'000, 0, 0, 0, 0}};
  profile.consumer.batches = 10;
  profile.consumer.busy_ns = 200'000'000;
  const StepModel m = step_model_of(profile);
  CHECK(m.load_cpu_s == Approx(0.042));
  CHECK(m.load_wait_s == Approx(0.003));
  CHECK(m.threads == 2);
  CHECK(m.prefetch == 3);
  CHECK(m.consume_s == Approx(0.02));
  CHECK(step_seconds(step_model_of({})) == 0);
}

}  // namespace unstarve
