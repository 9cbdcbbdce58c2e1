#include "unstarve/jobs/ladder/run_comparison.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace unstarve {
namespace {

// A run that reaches 80 % after `seconds`.
TrainHistory history_of(double seconds) {
  TrainHistory history;
  history.steps = 100;
  history.samples = 3200;
  for (const double share : {0.5, 1.0}) {
    EvaluationPoint point;
    point.accuracy = 0.8 * share;
    point.seconds = point.training_seconds = share * seconds;
    history.evaluations.push_back(point);
  }
  return history;
}

TEST_CASE("whole runs are compared by the time to the same accuracy, in pairs with a seed each") {
  Settings before, after;
  before.train.seed = after.train.seed = 10;
  after.pipeline.batch.size = 2 * before.pipeline.batch.size;
  std::vector<std::string> runs, reports;
  const TrainRun train = [&](const Settings& settings) {
    const bool is_after = settings.pipeline.batch.size == after.pipeline.batch.size;
    CHECK(settings.train.seed - 10 == settings.pipeline.order.seed);
    runs.push_back((is_after ? "after " : "before ") + std::to_string(settings.train.seed));
    return history_of(is_after ? 50 : 100);
  };
  LedgerEntry entry;
  entry.name = "batch size";
  compare_by_accuracy(
      before, after, train, [&](std::string_view what) { reports.emplace_back(what); }, entry);
  REQUIRE(runs.size() == 2 * kMinPairs);
  CHECK(std::vector(runs.begin(), runs.begin() + 4) ==
        std::vector<std::string>{"before 10", "after 10", "after 11", "before 11"});
  REQUIRE(reports.size() == kMinPairs);
  CHECK(reports[1].find("batch size: runs 3 and 4 of ") == 0);
  CHECK(entry.verdict == Verdict::kKept);
  CHECK(entry.ratio.ratio == Approx(2));
  CHECK(entry.step_ms == Approx(500));
  CHECK(entry.samples_per_s == Approx(64));
  CHECK(entry.reason.find("80.0 % accuracy after 50 s of training, 100 s without") == 0);
}

}  // namespace
}  // namespace unstarve
