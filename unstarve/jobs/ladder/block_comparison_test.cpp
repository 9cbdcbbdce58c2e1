#include "unstarve/jobs/ladder/block_comparison.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>
#include <string>

namespace unstarve {
namespace {

// A side whose steps of 10 samples take `step_ms`; it appends its name to `log`.
class SteadySubject final : public Subject {
 public:
  SteadySubject(char name, std::int64_t step_ms, std::string& log) : name_(name), step_ms_(step_ms), log_(log) {}
  Block run(double seconds, int) override {
    CHECK(seconds >= kShortestBlock);
    log_ += name_;
    const std::int64_t wall_ns = 4'000'000 * step_ms_ * (slow_ ? 3 : 1);
    slow_ = varies && !slow_;
    return {.steps = 4, .samples = 40, .wall_ns = wall_ns, .wait_ns = 1'000'000 * step_ms_};
  }
  void record() override {}
  Profile profile() override { return {}; }
  [[nodiscard]] const Settings& settings() const override { return settings_; }
  [[nodiscard]] const FirstMeasurements& first() const override { return first_; }
  bool varies = false;  // every other block takes three times as long

 private:
  bool slow_ = false;
  char name_;
  std::int64_t step_ms_;
  std::string& log_;
  Settings settings_;
  FirstMeasurements first_;
};

TEST_CASE("both sides alternate, and every block is recorded") {
  const Progress progress;
  LadderRecorder recorder(100, progress);
  std::string log;
  SteadySubject a('a', 20, log), b('b', 10, log);
  const BlockComparison comparison = compare_blocks({a, {}}, {b, {}}, {0, 3, {"before", "after"}}, recorder);
  CHECK(log == "abbaab");
  CHECK(comparison.interval().ratio == Approx(2));
  CHECK(comparison.rate_a() == Approx(500));
  CHECK(comparison.rate_b() == Approx(1000));
  CHECK(comparison.step_ms_a == Approx(20));
  CHECK(comparison.step_ms_b == Approx(10));
  CHECK(comparison.step_b.seconds == Approx(0.01));
  CHECK(comparison.step_b.wait_s == Approx(0.0025));
  const std::vector<RecordedSpan> spans = recorder.take_spans();
  REQUIRE(spans.size() == 6);
  CHECK(spans[1].name == "after");
  CHECK(spans[1].figures == std::vector<std::pair<std::string, double>>{{"samples_per_s", 1000.0}});
  CHECK(recorder.take_spans().empty());
  log.clear();
  (void)compare_blocks({a, {}}, {b, {}}, {1000, 2, {"before", "after"}}, recorder);
  CHECK(log.size() == 20);  // ten pairs at most
}

TEST_CASE("the time per step and the rate of a side agree when blocks differ") {
  const Progress progress;
  LadderRecorder recorder(100, progress);
  std::string log;
  SteadySubject a('a', 20, log), b('b', 10, log);
  a.varies = b.varies = true;
  const BlockComparison comparison = compare_blocks({a, {}}, {b, {}}, {0, 4, {"before", "after"}}, recorder);
  CHECK(comparison.rate_a() == Approx(500 / std::sqrt(3)));
  CHECK(comparison.step_ms_a == Approx(1e3 * 10 / comparison.rate_a()));
  CHECK(comparison.step_ms_b == Approx(1e3 * 10 / comparison.rate_b()));
}

TEST_CASE("a ratio that changes from pair to pair is named") {
  BlockComparison comparison;
  comparison.a = {100, 101, 99, 100, 101, 99};
  comparison.b = {130, 129, 131, 130, 129, 131};
  CHECK(comparison.with_drift("").empty());
  CHECK(comparison.with_drift("slower").starts_with("slower"));
  for (std::size_t pair = 0; pair < 6; ++pair) comparison.b[pair] += 8 * static_cast<double>(pair);
  CHECK(comparison.with_drift("") == "the ratio changed from pair to pair: not a steady state, measure longer");
  CHECK(comparison.with_drift("slower").starts_with("slower; the ratio"));
}

}  // namespace
}  // namespace unstarve
