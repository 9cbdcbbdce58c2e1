#include "unstarve/observe/timeline.h"
#include "unstarve/core/json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/observe/report.h"

namespace unstarve {

TEST_CASE("a timeline counts nested and overlapping events of a lane once") {
  Timeline timeline;
  timeline.title = "Steps";
  timeline.seconds = 0.01;
  timeline.lanes = {"main thread", "device 0"};
  timeline.names = {"forward", "gemm"};
  timeline.kinds = {"operator", "kernel"};
  timeline.spans = {
      {0, 0, 0, 0, 0.004}, {0, 0, 0, 0.001, 0.001}, {0, 0, 0, 0.003, 0.002}, {1, 1, 1, 0.0020000001, 0.001}};
  CHECK(in_words(timeline) == "Steps: 10 ms. main thread: events in 5 ms. device 0: events in 1 ms.");
  CHECK(json_text(island_of(timeline)["spans"][3]) == "[1,1,1,0.002,0.001]");

  Report report;
  report.curves.resize(1);
  report.curves[0].timelines = {timeline};
  report.curves[0].timelines[0].names[0] = "</script><b>";
  const std::string html = render_report(report);
  CHECK_THAT(html, Catch::Contains("data-chart=\"timelines\" data-section=\"0\""));
  CHECK_THAT(html, !Catch::Contains("</script><b>"));
}

}  // namespace unstarve
