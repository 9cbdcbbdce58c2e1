// Text, JSON and report of a sweep; the program itself is tested in tests/python/cli/test_finders.py.

#include "unstarve/jobs/lr_find.h"
#include "unstarve/core/json.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <nlohmann/json.hpp>

#include "unstarve/observe/report.h"

namespace unstarve {
namespace {

LrFindResult found_rates(double fall) {
  LrFindResult result;
  result.data = "photos/";
  result.settings.train.accumulate = 4;
  result.options.from = 1e-6;
  for (int i = 0; i < 100; ++i) {
    const double x = -6 + i * 0.07;
    result.sweep.points.push_back({std::pow(10, x), 2.3 - fall / (1 + std::exp(-(x + 2) / 0.3)) + std::exp(5 * x)});
  }
  result.sweep.first_loss = 2.3;
  result.sweep.last_rate = result.sweep.points.back().rate;
  result.suggestion = suggest_rate(result.sweep);
  result.seconds = 12;
  return result;
}

}  // namespace

TEST_CASE("lr-find prints the rate to use with its reason") {
  LrFindResult result = found_rates(1);
  const std::string text = to_text(result);
  CHECK_THAT(text, Catch::Contains("x 4 accumulated") && Catch::Contains("100 updates from 1e-06 to 8.") &&
                       Catch::Contains("steepest  0.0") && Catch::Contains("use       --learning-rate 0.0"));
  result.sweep.end = SweepEnd::kDiverged;
  CHECK_THAT(to_text(result), Catch::Contains("the smoothed loss exceeded 4 times its minimum"));
  result.sweep.end = SweepEnd::kNotFinite;
  CHECK_THAT(to_text(result), Catch::Contains("not finite after that update"));
}

TEST_CASE("without a clear descent lr-find suggests nothing and says why") {
  const LrFindResult result = found_rates(0);
  CHECK_THAT(to_text(result),
             Catch::Contains("steepest  none") && Catch::Contains("no clear descent") && !Catch::Contains("use  "));
  const auto json = parse_json(to_json(result));
  CHECK(json["suggestion"]["learning_rate"].is_null());
  CHECK(json["tenth_of_minimum"]["learning_rate"].is_null());
}

TEST_CASE("the JSON of lr-find has a point for each update") {
  const auto json = parse_json(to_json(found_rates(1)));
  CHECK(json["points"].size() == 100);
  CHECK(json["points"][0]["slope"].is_null());
  CHECK(json["points"][50]["slope"].is_number());
  CHECK(json["accumulate"] == 4);
  CHECK(json["end"] == "complete");
  CHECK(json["suggestion"]["learning_rate"].get<double>() == Approx(0.01).epsilon(0.4));
  CHECK(json["suggestion"]["slope"].get<double>() < 0);
}

TEST_CASE("the report of lr-find has both charts with the suggestions") {
  const Report report = report_of(found_rates(1), "unstarve lr-find photos/ --report lr.html");
  REQUIRE(report.curves.size() == 1);
  REQUIRE(report.curves[0].charts.size() == 2);
  for (const CurveChart& chart : report.curves[0].charts) CHECK(chart.marks.size() == 2);
  CHECK_THAT(render_report(report), Catch::Contains("use --learning-rate 0.0") && Catch::Contains("All updates"));
}

TEST_CASE("the charts of lr-find show the descent, however large the loss becomes, or everything without one") {
  LrFindResult result = found_rates(1);
  result.sweep.points.back().loss = 1e6;
  const Report report = report_of(result, "");
  const CurveChart &losses = report.curves[0].charts[0], &slopes = report.curves[0].charts[1];
  CHECK(losses.y_from < result.suggestion.lowest.loss);
  CHECK(losses.y_to > 2.3);
  CHECK(losses.y_to < 3);
  CHECK(slopes.y_from < *result.suggestion.slope);
  CHECK(slopes.y_to > 0);
  const Report flat = report_of(found_rates(0), "");
  CHECK(flat.curves[0].charts[0].y_from == flat.curves[0].charts[0].y_to);
}

}  // namespace unstarve
