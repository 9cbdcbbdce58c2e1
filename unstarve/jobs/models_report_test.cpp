#include <catch2/catch.hpp>

#include "unstarve/jobs/models.h"

namespace unstarve {
namespace {

ModelRow row_of(const char* network, bool measured) {
  ModelRow row;
  row.network = network;
  row.latency.p50_ms = 2;
  if (measured) row.accuracy = MeasuredAccuracy{.correct = 7, .labelled = 10, .top1 = 0.7, .interval = {}};
  return row;
}

TEST_CASE("the reason for a missing Pareto front agrees with the accuracies in the table") {
  ModelsResult result;
  result.image_size = 160;
  result.rows = {row_of("first", false), row_of("second", false)};
  mark_front(result);
  CHECK_THAT(to_text(result), Catch::Contains("no accuracy of these networks at 160 px is known"));
  result.rows[1] = row_of("second", true);
  mark_front(result);
  CHECK_THAT(to_text(result), Catch::Contains("70.0 %") && !Catch::Contains("no accuracy") &&
                                  Catch::Contains("no Pareto front: the accuracy of 1 of 2 networks is not known"));
  result.rows[0] = row_of("first", true);
  mark_front(result);
  CHECK_THAT(to_text(result), Catch::Contains("Pareto front: by latency and measured accuracy"));
}

}  // namespace
}  // namespace unstarve
