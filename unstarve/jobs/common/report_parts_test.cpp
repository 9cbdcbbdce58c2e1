#include "unstarve/jobs/common/report_parts.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "unstarve/diagnose/profile/thread_window.h"

namespace unstarve {

TEST_CASE("a curve with too many values shows means, and the last point is the last value's") {
  CurveChart chart = steps_chart("steps");
  add_curve(chart, "short", std::vector<double>{1, 3}, 0.5, 1e3);
  CHECK(chart.curves[0].points.size() == 2);
  CHECK(chart.curves[0].points[1].x == 1);
  CHECK(chart.curves[0].points[1].y == 3000);
  std::vector<double> many(2 * kMostPoints + 1);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i);
  add_curve(chart, "many", many, 1);
  CHECK(chart.curves[1].points.size() <= kMostPoints);
  CHECK(chart.curves[1].points[0].y == 1);  // of 0, 1, 2
  CHECK(chart.curves[1].points.back().x == static_cast<double>(many.size()));
  add_curve(chart, "none", {}, 1);
  CHECK(chart.curves[2].points.empty());
}

TEST_CASE("the histogram counts every step once, the slowest ones in a bar of their own") {
  std::vector<double> seconds;
  for (int i = 0; i < 200; ++i) seconds.push_back(0.1 + 0.001 * (i % 10));
  seconds.push_back(5);
  const BarChart chart = step_histogram(seconds);
  double sum = 0;
  for (const Bar& bar : chart.bars) sum += bar.parts[0].value;
  CHECK(sum == 201);
  REQUIRE(chart.bars.size() == 11);
  CHECK(chart.bars.back().parts[0].value == 1);
  CHECK(chart.bars.back().name.starts_with("above 109"));
  CHECK(step_histogram(std::vector<double>(100, 0.1)).bars.empty());  // all the same
  CHECK(step_histogram(std::vector<double>(5, 0.1)).bars.empty());
}

TEST_CASE("the timeline shows steps of typical duration, each part in its colour") {
  RecordedTrack track{"bench", "parts", {}};
  for (int i = 0; i < 101; ++i) {
    const double begin = i < 46 ? i : i + 1000;  // two rounds
    track.spans.push_back({"step " + std::to_string(i + 1), begin, 1});
    track.spans.push_back({"wait for data", begin, 0.25});
    track.spans.push_back({"compute", begin + 0.25, 0.75});
    track.spans.push_back({"forward", begin + 0.25, 0.25});  // not shown
  }
  const Timeline timeline = timeline_of_steps("Steps", std::array{track}, {"wait for data", "compute"});
  CHECK(timeline.lanes == std::vector<std::string>{"steps", "parts"});
  CHECK(timeline.kinds == std::vector<std::string>{"wait for data", "compute", "step"});
  CHECK(timeline.seconds == 10);
  CHECK(timeline.marks.size() == 10);
  REQUIRE(timeline.spans.size() == 30);
  CHECK(timeline.names[static_cast<std::size_t>(timeline.spans[0].name)].starts_with("step "));
  CHECK(timeline.spans[0].kind == 2);
  for (const TimelineSpan& span : timeline.spans) CHECK((span.begin_s >= 0 && span.begin_s + span.seconds <= 10));
  // Without spans of whole steps.
  std::erase_if(track.spans, [](const RecordedSpan& span) { return span.name.starts_with("step "); });
  const Timeline parts = timeline_of_steps("Steps", std::array{track, track}, {"wait for data", "compute"});
  CHECK(parts.lanes == std::vector<std::string>{"parts", "parts"});
  CHECK(parts.spans.size() == 40);
  CHECK(parts.marks == timeline.marks);
  track.spans.resize(4);
  CHECK(timeline_of_steps("Steps", std::array{track}, {"wait for data"}).spans.empty());
  CHECK(timeline_of_steps("Steps", {}, {"wait for data"}).spans.empty());
}

TEST_CASE("a finding without a predicted gain has none in the report") {
  const std::vector<RunFinding> findings{{"a", "title", "evidence", "change", 0.5, 2}, {"b", "", "", "", 0.1, 0}};
  const std::vector<ReportFinding> shown = report_findings(findings);
  CHECK(shown[0].gain == "up to 2.00 times the throughput");
  CHECK(shown[1].gain.empty());
  CHECK(shown[0].confidence == "medium");
}

TEST_CASE("the timeline of threads has a row of steps, and one for each thread") {
  ThreadWindow window{3, 0.3, 0.005, "un.step()", {0, 0.1}, {"main 1 python", "worker 2 python"}, {}};
  CHECK(timeline_of_threads(window).spans.empty());
  window.spans = {{0, ThreadState::kRunning, 0, 0.3}, {1, ThreadState::kPipe, 0.1, 0.05}};
  Timeline timeline = timeline_of_threads(window);
  CHECK_THAT(timeline.title,
             Catch::Contains("2 typical steps from 3.0 s on, by un.step()") && Catch::Contains("every 5.0 ms"));
  CHECK(timeline.lanes == std::vector<std::string>{"steps", "main 1 python", "worker 2 python"});
  REQUIRE(timeline.spans.size() == 4);
  CHECK(timeline.spans[1].seconds == Approx(0.2));
  CHECK(timeline.names[static_cast<std::size_t>(timeline.spans[1].name)] == "step 2");
  CHECK(timeline.kinds[static_cast<std::size_t>(timeline.spans[1].kind)] == "step");
  CHECK(timeline.spans[3].lane == 2);
  CHECK(timeline.names[static_cast<std::size_t>(timeline.spans[3].name)] == "waits for a pipe");
  CHECK(timeline.kinds[static_cast<std::size_t>(timeline.spans[3].kind)] == "waits for a pipe");
  window.steps.clear();
  timeline = timeline_of_threads(window);
  CHECK(timeline.lanes.front() == "main 1 python");
  CHECK(timeline.spans.front().lane == 0);
}

}  // namespace unstarve
