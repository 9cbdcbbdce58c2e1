#include "unstarve/jobs/common/chrome_trace.h"
#include "unstarve/core/json.h"

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "unstarve/jobs/common/json.h"

namespace unstarve {
namespace {

std::map<std::string, int> phases(const Json& trace) {
  std::map<std::string, int> counts;
  for (const Json& event : trace.at("traceEvents")) ++counts[event.at("ph").get<std::string>()];
  return counts;
}

// Slices of each track are disjoint or nested.
void check_nesting(const Json& trace) {
  std::map<std::pair<int, int>, std::vector<double>> open;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const double begin = event.at("ts"), end = begin + event.at("dur").get<double>();
    std::vector<double>& ends = open[{event.at("pid").get<int>(), event.at("tid").get<int>()}];
    while (!ends.empty() && ends.back() <= begin) ends.pop_back();
    CHECK((ends.empty() || end <= ends.back() + 1e-6));
    ends.push_back(end);
  }
}

const Json* find(const Json& trace, const std::string& name) {
  for (const Json& event : trace.at("traceEvents"))
    if (event.at("name") == name) return &event;
  return nullptr;
}

}  // namespace

TEST_CASE("a watched run has steps at its end, counters and lifetimes, in microseconds") {
  RunProfile profile;
  profile.command = "train \xff";
  profile.watching.seconds = 4;
  profile.timeline = {2, {1, 0.5}, {0, 1}, {0, 0}, {1e6, 2e6}, {5e6, 6e6}, {0.5, 1}};
  profile.steps = {"un.step()", 2, {0.5, 0.25}, 9};
  profile.processes.resize(2);
  profile.processes[0] = {.pid = 7, .name = "python", .begin_s = 1, .end_s = 3.5};
  const std::vector<RunFinding> findings{{"few-workers", "the loader has one worker", "e", "c", 0.5, 2}};
  const Json trace = parse_ordered_json(chrome_trace(profile, findings));
  CHECK(phases(trace) == std::map<std::string, int>{{"C", 8}, {"M", 10}, {"X", 3}, {"i", 1}});
  const Json* const step = find(trace, "step 7");
  REQUIRE(step != nullptr);
  CHECK(step->at("ts") == 3.25e6);
  CHECK(step->at("dur") == 0.5e6);
  CHECK(find(trace, "step 8")->at("ts") == 3.75e6);
  CHECK(find(trace, "step 9") == nullptr);
  CHECK(find(trace, "GPU utilisation, %")->at("args").at("mean") == 50);
  CHECK(find(trace, "the loader has one worker")->at("args").at("rule") == "few-workers");
  int lifetimes = 0;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X" || event.at("name") != "7 python") continue;
    ++lifetimes;
    CHECK(event.at("ts") == 1e6);
    CHECK(event.at("dur") == 2.5e6);
  }
  CHECK(lifetimes == 1);
  check_nesting(trace);
  CHECK(phases(parse_ordered_json(chrome_trace(RunProfile{}, {})))["X"] == 0);
}

TEST_CASE("states of threads are at their time since the begin of watching") {
  RunProfile profile;
  profile.watching.seconds = 10;
  profile.thread_window = {3,
                           0.3,
                           0.005,
                           "un.step()",
                           {0, 0.1},
                           {"main 1 python", "worker 2 python"},
                           {{0, ThreadState::kRunning, 0, 0.3}, {1, ThreadState::kPipe, 0.1, 0.05}}};
  const Json trace = parse_ordered_json(chrome_trace(profile, {}));
  check_nesting(trace);
  CHECK(phases(trace)["X"] == 4);
  CHECK(find(trace, "step 2")->at("ts") == 3.1e6);
  CHECK(find(trace, "step 2")->at("dur") == 0.2e6);
  const Json* const waits = find(trace, "waits for a pipe");
  REQUIRE(waits != nullptr);
  CHECK(waits->at("cat") == "thread_state");
  CHECK(waits->at("ts") == 3.1e6);
  CHECK(waits->at("dur") == 0.05e6);
}

TEST_CASE("events that overlap without nesting get a further track") {
  RunProfile profile;
  profile.trace.emplace();
  profile.trace->steps = {{0.01, {0.01}}, {0.02, {0.01, 0.01}}};
  TraceWindow& window = profile.trace->window;
  window.seconds = 0.03;
  window.steps = {0, 0.01};
  window.lanes = {"main thread", "device 2, stream 7"};
  window.names = {"a", "b"};
  window.spans = {{0, 0, StepActivity::kOperator, 0, 0.008},       {0, 1, StepActivity::kOperator, 0.001, 0.002},
                  {0, 1, StepActivity::kLoader, 0.009, 0.002},     {1, 0, StepActivity::kKernel, 0.001, 0.002},
                  {1, 1, StepActivity::kKernel, 0.002, 0.0020005}, {1, 1, StepActivity::kCopy, 0.005, 0.001}};
  const Json trace = parse_ordered_json(chrome_trace(profile, {}));
  check_nesting(trace);
  CHECK(phases(trace)["X"] == 2 + 2 + 6);
  CHECK(phases(trace)["C"] == 2);
  std::vector<std::string> tracks;
  for (const Json& event : trace.at("traceEvents"))
    if (event.at("name") == "thread_name" && event.at("pid") == 3) tracks.push_back(event.at("args").at("name"));
  CHECK(tracks ==
        std::vector<std::string>{"main thread", "device 2, stream 7", "device 2, stream 7 (2)", "main thread (2)"});
  CHECK(find(trace, "step 2")->at("ts") == 1e4);
  CHECK(find(trace, "b")->at("cat") == "cpu_op");
  int devices = 0;
  for (const Json& event : trace.at("traceEvents"))
    devices += event.contains("args") && event.at("args").value("device", -1) == 2 ? 1 : 0;
  CHECK(devices == 3);

  // Of a file that was written by hand.
  window.lanes[1] = "device x";
  profile.timeline.main = {1, 2, 3};
  CHECK(phases(parse_ordered_json(chrome_trace(profile, {})))["X"] == 10);
}

TEST_CASE("the link to a trace is relative to the page, and escaped") {
  Report report;
  add_trace_link(report, "a/page.html", "a/trace.json");  // no section: no link
  report.curves.resize(1);
  add_trace_link(report, "a/page.html", "b/javascript:\"x y\".json");
  REQUIRE(report.curves[0].links.size() == 1);
  CHECK(report.curves[0].links[0].url == "./../b/javascript%3A%22x%20y%22.json");
  CHECK_THAT(render_report(report),
             Catch::Contains("<a href=\"./../b/javascript%3A%22x%20y%22.json\">javascript:&quot;x "
                             "y&quot;.json</a>"));
}

}  // namespace unstarve
