#include "unstarve/jobs/common/thread_report.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

using Catch::Contains;

TEST_CASE("the timeline of threads has a row of steps, and one for each thread") {
  ThreadWindow window{3, 0.3, 0.005, "un.step()", {0, 0.1}, {"main 1 python", "worker 2 python"}, {}};
  CHECK(timeline_of(window).spans.empty());
  window.spans = {{0, ThreadState::kRunning, 0, 0.3}, {1, ThreadState::kPipe, 0.1, 0.05}};
  Timeline timeline = timeline_of(window);
  CHECK_THAT(timeline.title, Contains("2 typical steps from 3.0 s on, by un.step()") && Contains("every 5.0 ms"));
  CHECK(timeline.lanes == std::vector<std::string>{"steps", "main 1 python", "worker 2 python"});
  REQUIRE(timeline.spans.size() == 4);
  CHECK(timeline.spans[1].seconds == Approx(0.2));
  CHECK(timeline.names[static_cast<std::size_t>(timeline.spans[1].name)] == "step 2");
  CHECK(timeline.kinds[static_cast<std::size_t>(timeline.spans[1].kind)] == "step");
  CHECK(timeline.spans[3].lane == 2);
  CHECK(timeline.names[static_cast<std::size_t>(timeline.spans[3].name)] == "waits for a pipe");
  CHECK(timeline.kinds[static_cast<std::size_t>(timeline.spans[3].kind)] == "waits for a pipe");
  window.steps.clear();
  timeline = timeline_of(window);
  CHECK(timeline.lanes.front() == "main 1 python");
  CHECK(timeline.spans.front().lane == 0);
}

}  // namespace
}  // namespace unstarve
