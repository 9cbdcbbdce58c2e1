#include "unstarve/diagnose/probes/step_period.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace unstarve {
namespace {

constexpr double kInterval = 0.005;
constexpr std::size_t kIntervals = 1600;

using Generator = std::mt19937_64;
double uniform(Generator& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

// What a thread does, one activity after the other: the counters that it increases, at constant rates.
class Work {
 public:
  enum Counter : std::size_t { kCpu, kSwitches, kFaults, kReads };

  [[nodiscard]] bool is_over() const { return now_ >= kInterval * kIntervals; }
  [[nodiscard]] double now() const { return now_; }
  // `cpu`: share of a core; the other numbers are totals.
  void spend(double seconds, double cpu, double switches = 0, double faults = 0, double reads = 0) {
    const double begin = now_, end = now_ + std::max(seconds, 1e-6);
    const double totals[] = {cpu * seconds, switches, faults, reads};
    for (std::size_t c = 0; c < 4; ++c) {
      for (auto i = static_cast<std::size_t>(begin / kFine); i + 1 < fine_[c].size(); ++i) {
        const double from = std::max(begin, kFine * static_cast<double>(i));
        const double to = std::min(end, kFine * static_cast<double>(i + 1));
        if (to <= from) break;
        fine_[c][i + 1] += totals[c] * (to - from) / (end - begin);
      }
    }
    now_ = end;
  }
  // As read by looks at random times in the intervals.
  [[nodiscard]] ThreadSeries series(Generator& random) const {
    ThreadSeries series{kInterval, {}};
    std::vector<std::size_t> looks;
    for (std::size_t i = 0; i <= kIntervals; ++i)
      looks.push_back(kPerInterval * i + static_cast<std::size_t>(uniform(random, 0, 0.8 * kPerInterval)));
    for (const std::vector<double>& fine : fine_) {
      std::vector<double> sums(fine.size()), at_look;
      std::partial_sum(fine.begin(), fine.end(), sums.begin());
      for (const std::size_t look : looks) at_look.push_back(sums[std::min(look, sums.size() - 1)]);
      std::vector<double>& values = series.counters.emplace_back();
      double before = 0;
      for (std::size_t i = 1; i < kIntervals; ++i) {  // the grid is between looks i - 1 and i, or i and i + 1
        const std::size_t time = kPerInterval * i, b = looks[i] <= time ? i + 1 : i;
        const double share = static_cast<double>(time - looks[b - 1]) / static_cast<double>(looks[b] - looks[b - 1]);
        const double now = std::lerp(at_look[b - 1], at_look[b], share);
        values.push_back(now - before);
        before = now;
      }
    }
    return series;
  }

 private:
  static constexpr std::size_t kPerInterval = 20;
  static constexpr double kFine = kInterval / kPerInterval;
  double now_ = 0;
  std::vector<std::vector<double>> fine_ =
      std::vector<std::vector<double>>(4, std::vector<double>(kPerInterval* kIntervals + 1));
};

double period_of(const Work& work, Generator& random) { return step_period(work.series(random)).value_or(0); }

// Reads a batch of `reads` records, computes, waits for another thread, computes.
void train(Work& work, double seconds, int reads) {
  for (int i = 0; i < reads; ++i) work.spend(0.15 * seconds / reads, 0.3, 2, 3, 4);
  work.spend(0.35 * seconds, 1, 0, 500);
  work.spend(0.2 * seconds, 0, 1);
  work.spend(0.3 * seconds, 1, 0, 200);
}

// Steps whose durations vary by the share `variation`, with activity of others at random times.
Work steps_of(Generator& random, double seconds, double variation, double noise = 0.1, double* mean = nullptr) {
  Work work;
  int steps = 0;
  std::normal_distribution<double> normal;
  while (!work.is_over()) {
    const double step = seconds * std::max(1 + variation * normal(random), 0.2);
    train(work, step, 8);
    ++steps;
    if (mean != nullptr) *mean = work.now() / steps;
    if (uniform(random, 0, 1) < noise) work.spend(uniform(random, 0, 0.2 * seconds), 0, 1, 20);
  }
  return work;
}

TEST_CASE("the period of steps with batches of reads") {
  Generator random(1);
  for (const double seconds : {0.026, 0.03, 0.05, 0.1, 0.2, 0.4, 0.79}) {
    CAPTURE(seconds);
    Work work = steps_of(random, seconds, 0.02);
    CHECK(period_of(work, random) == Approx(seconds).epsilon(0.02));
  }
}

TEST_CASE("periods that the series cannot resolve have no result") {
  Generator random(2);
  for (const double seconds : {0.0033, 0.0071, 0.0113, 0.017, 1.1, 2.3}) {
    CAPTURE(seconds);
    Work work = steps_of(random, seconds, 0.02);
    CHECK(period_of(work, random) == 0);
  }
  CHECK(!step_period({}));
  CHECK(!step_period({kInterval, {{}}}));
  CHECK(!step_period({kInterval, {std::vector<double>(kIntervals, 1), std::vector<double>(kIntervals)}}));
}

TEST_CASE("of random steps that are too short or too long, fewer than 2 % have a result") {
  Generator random(7);
  constexpr int kCases = 200;
  int found = 0;
  for (int i = 0; i < kCases; ++i) {
    const double seconds = i % 2 == 0 ? uniform(random, 0.001, 0.022) : uniform(random, 0.85, 3);
    Work work = steps_of(random, seconds, uniform(random, 0, 0.1));
    found += period_of(work, random) > 0 ? 1 : 0;
  }
  CHECK(found < 0.02 * kCases);
}

TEST_CASE("random steps: the period is right, or there is none") {
  Generator random(3);
  struct Case {
    double variation, found;  // share that is found at least
  };
  for (const auto& [variation, least] : {Case{0, 0.9}, Case{0.05, 0.9}, Case{0.1, 0.8}, Case{0.2, 0.3}}) {
    int found = 0, wrong = 0;
    constexpr int kCases = 100;
    for (int i = 0; i < kCases; ++i) {
      const double seconds = 0.026 * std::pow(0.7 / 0.026, uniform(random, 0, 1));
      double mean = 0;
      Work work = steps_of(random, seconds, variation, 0, &mean);
      const double period = period_of(work, random);
      if (period == 0) continue;
      ++found;
      if (std::abs(period / mean - 1) > 0.02 + 0.4 * variation) ++wrong;
    }
    CAPTURE(variation, found, wrong);
    CHECK(found >= least * kCases);
    CHECK(wrong <= 1);
  }
}

// Series without period: values of `next`, independent of each other or not.
ThreadSeries series_of(const std::function<double()>& next, std::size_t counters) {
  ThreadSeries series{kInterval, std::vector<std::vector<double>>(counters, std::vector<double>(kIntervals))};
  for (std::size_t i = 0; i < kIntervals; ++i)
    for (std::vector<double>& counter : series.counters) counter[i] = std::max(next(), 0.0);
  return series;
}

TEST_CASE("series without a period: fewer than 1 % have a result") {
  Generator random(4);
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> exponential;
  double memory = 0;
  const auto slow = [&](double keep) {
    return [&random, &normal, &memory, keep] {
      memory = keep * memory + std::sqrt(1 - keep * keep) * normal(random);
      return 3 + memory;
    };
  };
  // Activities of random durations, in random order.
  const auto telegraph = [&](double mean, double shape) {
    std::gamma_distribution<double> duration(shape, mean / shape);
    Work work;
    while (!work.is_over()) {
      work.spend(duration(random), 1, 0, uniform(random, 0, 500));
      work.spend(duration(random), uniform(random, 0, 0.3), 1, 0, uniform(random, 0, 9));
    }
    return work.series(random);
  };
  const std::pair<const char*, std::function<ThreadSeries()>> kinds[] = {
      {"white noise", [&] { return series_of([&] { return 3 + normal(random); }, 5); }},
      {"rare events", [&] { return series_of([&] { return uniform(random, 0, 1) < 0.05 ? 1.0 : 0.0; }, 5); }},
      {"heavy tails", [&] { return series_of([&] { return std::pow(exponential(random), 4); }, 3); }},
      {"slow noise", [&] { return series_of(slow(uniform(random, 0.5, 0.99)), 1); }},
      {"random walk", [&] { return series_of(slow(0.9999), 1); }},
      {"random activities", [&] { return telegraph(0.02 * std::pow(20, uniform(random, 0, 1)), 1); }},
      {"activities of a typical duration",
       [&] { return telegraph(0.02 * std::pow(20, uniform(random, 0, 1)), uniform(random, 1, 4)); }},
  };
  constexpr int kCases = 300;
  for (const auto& [name, make] : kinds) {
    int found = 0;
    for (int i = 0; i < kCases; ++i) found += step_period(make()) ? 1 : 0;
    CAPTURE(name, found);
    CHECK(found < 0.01 * kCases);
  }
}

TEST_CASE("a thread that computes all the time, whose CPU time is counted in ticks") {
  Generator random(5);
  for (const double tick : {0.001, 0.004, 0.01}) {
    CAPTURE(tick);
    ThreadSeries series{kInterval, {{}}};
    double before = 0;
    for (std::size_t i = 0; i < kIntervals; ++i) {  // looks are shifted by random times
      const double at = std::floor((static_cast<double>(i) + uniform(random, 0, 0.8)) * kInterval / tick) * tick;
      series.counters[0].push_back(at - before);
      before = at;
    }
    CHECK(!step_period(series));
  }
}

TEST_CASE("similar halves of steps, epochs, and samples are not steps") {
  Generator random(6);
  const auto about = [&](double seconds) { return seconds * (1 + 0.02 * std::normal_distribution<double>()(random)); };
  SECTION("forward and backward") {
    Work work;
    while (!work.is_over()) {
      for (const double faults : {300, 500}) {
        work.spend(about(0.05), 1, 0, faults);
        work.spend(about(0.03), 0, 1);
      }
    }
    const double period = period_of(work, random);
    CAPTURE(period);
    CHECK((period == 0 || period == Approx(0.16).epsilon(0.02)));
  }
  SECTION("epochs of ten steps") {
    Work work;
    while (!work.is_over()) {
      for (int i = 0; i < 10; ++i) train(work, about(0.04), 8);
      work.spend(about(0.03), 0.5, 5, 0, 40);
    }
    const double period = period_of(work, random);
    CAPTURE(period);
    CHECK((period == 0 || period == Approx(0.04).epsilon(0.02)));
  }
  SECTION("an evaluation after 50 steps") {
    Work work;
    while (!work.is_over()) {
      for (int i = 0; i < 50; ++i) train(work, about(0.04), 8);
      work.spend(about(0.5), 0.5, 50, 0, 400);
    }
    CHECK(period_of(work, random) == Approx(0.04).epsilon(0.02));
  }
  SECTION("a step of 16 samples and a short computation: unknown which is the step") {
    Work work;
    while (!work.is_over()) {
      for (int i = 0; i < 16; ++i) {
        work.spend(about(0.02), 1, 0, 50);
        work.spend(about(0.01), 0, 1, 0, 10);
      }
      work.spend(about(0.03), 1, 0, 500);
    }
    const double period = period_of(work, random);
    CHECK((period == 0 || period == Approx(0.51).epsilon(0.02)));
  }
  SECTION("a loader whose period is another one") {
    Work work = steps_of(random, 0.1, 0.02, 0), loader;
    while (!loader.is_over()) {
      loader.spend(about(0.05), 1);
      loader.spend(about(0.013), 0, 1);
    }
    ThreadSeries series = work.series(random);
    const ThreadSeries other = loader.series(random);
    for (const std::size_t counter : {Work::kSwitches, Work::kReads})
      series.counters[counter] = other.counters[counter];
    const double period = step_period(series).value_or(0);
    CHECK((period == 0 || period == Approx(0.1).epsilon(0.02)));
  }
}

TEST_CASE("recorded programs: the period is their step, and a program without steps has none") {
  int with_steps = 0, without = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/fixtures/series")) {
    if (entry.path().extension() != ".txt") continue;
    CAPTURE(entry.path());
    std::ifstream file(entry.path());
    double step = 0, value = 0;  // the first line: the step that the program measured; 0: it has none
    REQUIRE(file >> step);
    ThreadSeries series{kInterval, std::vector<std::vector<double>>(5)};
    for (std::size_t i = 0; file >> value; ++i) series.counters[i % 5].push_back(value);
    REQUIRE(file.eof());
    REQUIRE(series.counters[0].size() > kIntervals / 2);
    REQUIRE(series.counters[0].size() == series.counters[4].size());
    if (step > 0) {
      ++with_steps;
      REQUIRE(step > kInterval * kShortestPeriod);
      CHECK(step_period(series).value_or(0) == Approx(step).epsilon(0.03));
    } else {
      ++without;
      CHECK(!step_period(series));
    }
  }
  CHECK(with_steps > 0);
  CHECK(without > 0);
}

}  // namespace
}  // namespace unstarve
