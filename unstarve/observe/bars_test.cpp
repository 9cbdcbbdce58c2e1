#include "unstarve/observe/bars.h"
#include "unstarve/core/json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/observe/report.h"

namespace unstarve {
namespace {

BarChart rates() {
  BarChart chart;
  chart.title = "Samples per second";
  chart.unit = "samples/s";
  chart.bars = {{"loader", "410 [400, 420]", {{"", 410}}, 400, 420}, {"step", "3 ms", {{"copy", 1}, {"wait", 2}}}};
  return chart;
}

}  // namespace

TEST_CASE("bars give all their figures to screen readers and scripts") {
  CHECK(in_words(rates()) == "Samples per second. loader: 410 [400, 420]. step: 3 ms.");
  const nlohmann::json island = island_of(rates());
  CHECK(island["unit"] == "samples/s");
  CHECK(island["bars"][0]["high"] == 420);
  CHECK(json_text(island["bars"][1]["parts"]) == R"([["copy",1.0],["wait",2.0]])");
}

TEST_CASE("bars of every section are numbered through") {
  Report report;
  report.curves.resize(2);
  report.curves[0].bars = {rates(), rates()};
  report.curves[1].bars = {rates()};
  const std::string html = render_report(report);
  for (const char* const box : {"data-chart=\"bars\" data-section=\"0\"", "data-chart=\"bars\" data-section=\"1\"",
                                "data-chart=\"bars\" data-section=\"2\""})
    CHECK_THAT(html, Catch::Contains(box));
  report.curves[1].bars[0].bars[0].name = "</script><b>";
  CHECK_THAT(render_report(report), !Catch::Contains("</script><b>"));
}

}  // namespace unstarve
