#include "unstarve/observe/curves.h"
#include "unstarve/core/json.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "unstarve/observe/report.h"
#include "unstarve/observe/report_tables.h"

using namespace unstarve;
using Catch::Contains;

namespace {

CurveChart chart_of_losses() {
  CurveChart chart;
  chart.title = "Loss";
  chart.x_title = "learning rate";
  chart.curves = {{"loss", CurveLook::kDots, {{1e-3, 2.3}, {1e-2, 1.5, 1.4, 1.6}}},
                  {"empty", CurveLook::kLine, {}},
                  {"other", CurveLook::kDashed, {{1e-3, std::nan("")}}}};
  chart.marks = {{"best", 0.01}};
  return chart;
}

}  // namespace

TEST_CASE("the island has the points of a chart, with intervals where there are any", "[report]") {
  const auto island = parse_json(json_text(island_of(chart_of_losses())));
  CHECK(island["axis"] == "decades");
  CHECK(island["unit"] == "number");
  CHECK(island["curves"][0]["look"] == "dots");
  CHECK(island["curves"][0]["points"] == parse_json("[[0.001, 2.3], [0.01, 1.5, 1.4, 1.6]]"));
  CHECK(island["curves"][1]["points"].empty());
  CHECK(island["curves"][2]["points"][0][1].is_null());
  CHECK(island["marks"][0]["x"] == 0.01);
}

TEST_CASE("points may have labels and areas, in the island and in words", "[report]") {
  CurveChart chart;
  chart.title = "Accuracy";
  chart.curves = {{"front", CurveLook::kLine, {{2, 0.5}, {3, 0.6}}, {"a", "b"}, {10, 20}}};
  const auto island = parse_json(json_text(island_of(chart)));
  CHECK(island["curves"][0]["labels"] == parse_json(R"(["a", "b"])"));
  CHECK(island["curves"][0]["areas"] == parse_json("[10.0, 20.0]"));
  CHECK_FALSE(parse_json(json_text(island_of(chart_of_losses())))["curves"][0].contains("labels"));
  CHECK(in_words(chart) == "Accuracy. front: a, 0.500 at 2; b, 0.600 at 3;");
}

TEST_CASE("a chart in words names the ends of its curves and its marks", "[report]") {
  CHECK(in_words(chart_of_losses()) ==
        "Loss. loss: 2.30 at 0.001, 1.50 at 0.01. other: - at 0.001, - at 0.001. best: 0.01.");
  CurveChart shares;
  shares.unit = CurveUnit::kPercent;
  shares.curves = {{"share", CurveLook::kLine, {{2, 0.5}}}};
  CHECK_THAT(in_words(shares), Contains("50.0 % at 2"));
}

TEST_CASE("charts are numbered through all sections, and untrusted text is escaped", "[report]") {
  Report report;
  report.title = "unstarve lr-find photos/";
  CurveSection section;
  section.title = "<b>";
  section.verdict = "<i>";
  section.tiles = {{"<u>", "label"}};
  section.charts = {chart_of_losses(), chart_of_losses()};
  section.tables = {{"figures", {"rate", "remark"}, {{"0.1", "<s>"}}, true}};
  report.curves = {section, section};
  const std::string html = render_report(report);
  for (const char* tag : {"<b></", "<i>", "<u>", "<s>"}) CHECK(html.find(tag) == std::string::npos);
  CHECK_THAT(html, Contains("data-section=\"3\"") && Contains("<details><summary>Figures") &&
                       Contains("id=\"curves-2\"") && !Contains("interleaved A/B"));
  CHECK(parse_json(report_island(report))["curves"].size() == 4);
}
