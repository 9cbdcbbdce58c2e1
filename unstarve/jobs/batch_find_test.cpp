// Text, JSON and report of measured batch sizes; the program itself is tested in tests/python/cli/test_finders.py.

#include "unstarve/jobs/batch_find.h"
#include "unstarve/core/json.h"

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "unstarve/observe/report.h"

namespace unstarve {
namespace {

BatchFindResult found_batches() {
  BatchFindResult result;
  result.data = "photos/";
  result.settings.pipeline.batch.size = 32;
  result.settings.train.learning_rate = 0.0125;
  for (const int batch : {16, 32, 64, 128}) {
    BatchPoint point;
    point.batch = batch;
    const double rate = 1000.0 * batch / (batch + 4);
    point.together = {rate, 0.99 * rate, 1.01 * rate, 8};
    point.alone = {1.1 * rate, rate, 1.2 * rate, 8};
    point.memory_bytes = point.host_bytes = static_cast<std::size_t>(batch) << 20;
    result.search.points.push_back(point);
  }
  result.search.reason = "128 is the largest size to try";
  result.search.limit_bytes = std::size_t{1} << 30;
  result.search.predicted_largest = 900;
  result.knee = 2;
  result.best = 3;
  const LayerShape layer{"layer1.0.conv1", 64, 64, 56, 3, 1, 1};
  result.batch_check = {60, 64, {0.97, 0.95, 0.99, 6}, ""};
  result.channel_check = {layer, with_unaligned_channels(layer), {0.9, 0.7, 1.1, 6}, ""};
  result.unaligned_layers = {{"conv1", 3, 64}};
  result.learning_rate = 0.025;
  return result;
}

}  // namespace

TEST_CASE("batch-find prints the sizes, the knee and the flags with the rule of the learning rate") {
  BatchFindResult result = found_batches();
  CHECK_THAT(to_text(result),
             Catch::Contains("knee           batch 64 is the smallest") &&
                 Catch::Contains("128 is the largest size measured") &&
                 Catch::Contains("about 900 samples would fit in 1.07 GB") &&
                 Catch::Contains("batch 60 reaches 0.97 [0.95, 0.99] times the samples per second of 64 "
                                 "(trainer alone): slower") &&
                 Catch::Contains("60 to 60 channels reach 0.90 [0.70, 1.10] times the multiply-adds per second "
                                 "of 64 to 64 (layer1.0.conv1 alone): no difference") &&
                 Catch::Contains("unaligned      conv1 (3 to 64)") &&
                 Catch::Contains("use            --batch 64 --learning-rate 0.025 (linear rule for "
                                 "sgd: 0.0125 at batch 32)"));
  result.search.end = GrowthEnd::kMemory;
  result.search.reason = "a batch of 256 ran out of memory";
  result.batch_check = {0, 8, {}, "the knee is small"};
  result.channel_check = {{}, {}, {}, "no such layer"};
  result.unaligned_layers.clear();
  CHECK_THAT(to_text(result), Catch::Contains("128 is the largest size that fits") &&
                                  Catch::Contains("batch of 8     not measured: the knee is small") &&
                                  Catch::Contains("channels of 8  not measured: no such layer") &&
                                  Catch::Contains("best, largest") &&
                                  Catch::Contains("all channel counts are multiples of 8"));
  result.search.points.resize(1);
  result.knee = result.best = 0;
  CHECK_THAT(to_text(result), Catch::Contains("1 size in") &&
                                  Catch::Contains("knee           batch 16 is the only size measured: 800 ["));
}

TEST_CASE("the JSON of batch-find has the documented keys") {
  BatchFindResult result = found_batches();
  result.search.points[0].memory_bytes = 0;
  const auto json = parse_json(to_json(result));
  CHECK(json["points"].size() == 4);
  CHECK(json["points"][0]["memory_bytes"].is_null());
  CHECK(json["points"][3]["utilisation"].get<double>() == Approx(1 / 1.1));
  CHECK(json["knee"]["batch"] == 64);
  CHECK(json["best"]["batch"] == 128);
  CHECK(json["largest"]["predicted"] == 900);
  CHECK(json["multiple_of_8"]["batch"]["ratio"] == 0.97);
  CHECK(json["multiple_of_8"]["channels"]["multiple_out"] == 64);
  CHECK(json["multiple_of_8"]["unaligned_layers"][0]["in"] == 3);
  CHECK(json["use"]["flags"] == "--batch 64 --learning-rate 0.025");
  CHECK(json["use"]["rule"] == "linear");
}

TEST_CASE("the report of batch-find has rates, memory and utilisation over the batch size") {
  const Report report = report_of(found_batches(), "unstarve batch-find photos/ --report batch.html");
  REQUIRE(report.curves.size() == 1);
  REQUIRE(report.curves[0].charts.size() == 3);
  CHECK(report.curves[0].charts[0].curves.size() == 2);
  for (const CurveChart& chart : report.curves[0].charts) {
    REQUIRE(chart.marks.size() == 2);
    CHECK(chart.marks[0].x == 64);
    CHECK(chart.marks[1].name == "largest measured, 128");
  }
  CHECK(report.curves[0].tables[0].rows.size() == 4);
  CHECK_THAT(render_report(report), Catch::Contains("samples per batch") && Catch::Contains("All sizes"));
}

}  // namespace unstarve
