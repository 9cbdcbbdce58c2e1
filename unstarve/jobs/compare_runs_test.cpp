#include "unstarve/jobs/compare_runs.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/core/utf8.h"
#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/observe/report.h"

namespace unstarve {
namespace {

using Catch::Contains;

const CodeLine kNext{"__next__", "torch/utils/data/dataloader.py", 1};

// Steps that take `step_s`, of which the main thread is in the line `input` for `input_s`: it waits for batches.
Json watch_result(double step_s, double input_s, int steps = 200, const CodeLine& input = kNext) {
  RunProfile profile;
  profile.steps = {"un.step()", 1 / step_s, {}, 0};
  for (int i = 0; i < steps; ++i) profile.steps.seconds.push_back(step_s * (1 + 0.05 * ((i * 7) % 5 - 2)));
  profile.stacks.seconds = 10;
  profile.stacks.lines = {input, {"forward", "torch/nn.py", 1}};
  profile.stacks.stacks = {{StackThread::kMain, {0}, 10 * input_s / step_s, 0, 9},
                           {StackThread::kMain, {1}, 10 - 10 * input_s / step_s, 0, 9}};
  return Json{{"verdict", ""}, {"profile", parse_ordered_json(to_json(profile))}};
}

Json bench_result(double loader, double together, double spread = 0.01) {
  const auto rounds = [&](double rate) { return Json{rate * (1 - spread), rate, rate * (1 + spread)}; };
  return Json{{"data", "photos"},
              {"device", "cpu"},
              {"model", "resnet18"},
              {"batch", 64},
              {"together", together},
              {"bottleneck", "loader"},
              {"rounds_of",
               {{"storage", rounds(9000)},
                {"loader", rounds(loader)},
                {"copy", rounds(8000)},
                {"network", rounds(700)},
                {"together", rounds(together)}}}};
}

TEST_CASE("steps that became slower, and the part that regressed") {
  const RunComparison comparison = compare_runs(watch_result(0.1, 0.01), watch_result(0.13, 0.04), "a", "b");
  CHECK(comparison.slower);
  CHECK_FALSE(comparison.faster);
  CHECK(comparison.whole.ratio.ratio == Approx(1 / 1.3));
  CHECK(comparison.regressed == "input");
  CHECK_THAT(comparison.verdict(), Contains("b is slower: 0.769") && Contains("input regressed most"));
  REQUIRE(comparison.parts.size() == 2);
  CHECK(comparison.parts[0].before == Approx(10));
  CHECK(comparison.parts[0].after == Approx(40));
  CHECK(comparison.parts[1].name == "compute");
}

TEST_CASE("the part that regressed is the decoding of a program without a loader") {
  const CodeLine load{"load", "PIL/ImageFile.py", 1};
  const RunComparison comparison =
      compare_runs(watch_result(0.1, 0.01, 200, load), watch_result(0.13, 0.04, 200, load), "a", "b");
  CHECK(comparison.regressed == "decode");
  REQUIRE(comparison.parts.size() == 2);
  CHECK(comparison.parts[0].after == Approx(40));
}

TEST_CASE("a run that was disturbed by other programs is named, and no part is blamed") {
  Json after = watch_result(0.13, 0.04);
  RunProfile profile = run_profile_from_json(json_text(after["profile"]), "made up");
  profile.watching.seconds = 20;
  profile.machine.affinity_cores = 2;
  profile.machine.busy_cores = 1.9;
  profile.processes = {{.pid = 1,
                        .role = ProcessRole::kMain,
                        .name = "python",
                        .end_s = 20,
                        .cpu_s = 10,
                        .run_delay_s = 8,
                        .busiest_thread_s = 10}};
  profile.processes[0].main_thread = {"python", 1, 10, 8, {}};
  profile.processes[0].threads = {profile.processes[0].main_thread};
  after["profile"] = parse_ordered_json(to_json(profile));
  const RunComparison comparison = compare_runs(watch_result(0.1, 0.01), after, "a", "b");
  CHECK(comparison.slower);
  CHECK(comparison.regressed.empty());
  REQUIRE(comparison.warnings.size() == 1);
  CHECK_THAT(comparison.warnings[0], Catch::StartsWith("b: other programs use the cores: other programs use 1.4 of 2"));
}

TEST_CASE("a step without duration is rejected with the name of the file") {
  Json after = watch_result(0.1, 0.01);
  after["profile"]["steps"]["seconds"][3] = 0;
  CHECK_THROWS_WITH(compare_runs(watch_result(0.1, 0.01), after, "a", "b"), Contains("compare b: found a step of 0 s"));
}

TEST_CASE("commands that differ are a warning") {
  Json before = watch_result(0.1, 0.01), after = watch_result(0.1, 0.01);
  before["profile"]["command"] = "python train.py --workers 1";
  after["profile"]["command"] = "python train.py --workers 4";
  CHECK(compare_runs(before, after, "a", "b").warnings ==
        std::vector<std::string>{"the commands differ: python train.py --workers 1 and python train.py --workers 4"});
}

TEST_CASE("steps of different loops are not compared") {
  Json before = watch_result(0.1, 0.01), after = watch_result(0.1, 0.01);
  before["profile"]["steps"]["source"] = "the loop at train.py:20 (main)";
  after["profile"]["steps"]["source"] = "the loop at Image.py:1079 (convert)";
  CHECK_THROWS_WITH(compare_runs(before, after, "a", "b"),
                    Contains("compare a and b: found steps of the loop at train.py:20 (main) and the loop at "
                             "Image.py:1079 (convert); expected the same loop") &&
                        Contains("un.step()"));
  after["profile"]["steps"]["source"] = "un.step()";
  CHECK_THROWS_AS(compare_runs(before, after, "a", "b"), Error);
  after["profile"]["steps"]["source"] = "the loop at train.py:24 (main)";  // the program was edited
  CHECK_THAT(compare_runs(before, after, "a", "b").warnings.at(0),
             Contains("of the loop at train.py:20 (main) and the loop at train.py:24 (main)"));
}

TEST_CASE("files that are no results are named with what they contain") {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "unstarve_compare_runs_test";
  const auto message_of = [&](const std::string& content) -> std::string {
    write_file_atomically(path, content);
    try {
      (void)compare_runs(path, path);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  for (const auto& [content, found] : {std::pair{std::string(), "an empty file"},
                                       {" \n", "an empty file"},
                                       {"\x1f\x8b\x08", "a file compressed by gzip"},
                                       {"<!DOCTYPE html>", "HTML or XML"},
                                       {"{\"together\":\n 1", "JSON that ends after 15 bytes, before it is complete"},
                                       {"{\"together\":\n oops}", "no JSON at byte 15:  oops}; expected the result"},
                                       {"[]", "JSON of type array"},
                                       {"{}", "an empty object"}}) {
    INFO(content);
    CHECK_THAT(message_of(content), Contains(path.string()) && Contains(std::string("found ") + found) &&
                                        Contains("expected the result of") && !Contains("json.exception"));
  }
}

TEST_CASE("runs that are equal or faster") {
  RunComparison comparison = compare_runs(watch_result(0.1, 0.01), watch_result(0.1, 0.01), "a", "b");
  CHECK_FALSE(comparison.slower);
  CHECK_FALSE(comparison.faster);
  CHECK_THAT(comparison.verdict(), Contains("no significant difference"));
  CHECK(comparison.warnings == std::vector<std::string>{"both files are of the same run"});
  comparison = compare_runs(watch_result(0.1, 0.05), watch_result(0.06, 0.01), "a", "b");
  CHECK(comparison.faster);
  CHECK(comparison.regressed.empty());
}

TEST_CASE("results of bench") {
  RunComparison comparison = compare_runs(bench_result(2000, 600), bench_result(400, 390), "a", "b");
  CHECK(comparison.slower);
  CHECK(comparison.regressed == "loader");
  CHECK(comparison.warnings.empty());
  comparison = compare_runs(bench_result(2000, 600, 0.4), bench_result(1800, 560, 0.4), "a", "b");
  CHECK_FALSE(comparison.slower);  // too noisy
  // Only a part is slower: the exit code is 0, and no test of the CI fails.
  comparison = compare_runs(bench_result(2000, 600), bench_result(1900, 601), "a", "b");
  CHECK_FALSE(comparison.slower);
  CHECK_THAT(to_junit(comparison), Contains("failures=\"0\""));
  Json other = bench_result(2000, 600);
  other["batch"] = 32;
  CHECK_THAT(compare_runs(bench_result(2000, 600), other, "a", "b").warnings[0], Contains("batch"));
  other["rounds_of"]["loader"] = Json{2000};
  CHECK_THROWS_WITH(compare_runs(other, other, "a", "b"), Contains("found 1 rounds of \"loader\""));
}

TEST_CASE("the rates of a part have the ratio that is shown next to them") {
  Json before = bench_result(2000, 600), after = bench_result(1800, 560);
  before["rounds_of"]["together"] = {100, 400, 410};
  after["rounds_of"]["together"] = {300, 310, 900};
  const RunComparison comparison = compare_runs(before, after, "a", "b");
  std::vector<ComparedPart> parts = comparison.parts;
  parts.push_back(comparison.whole);
  for (const ComparedPart& part : parts) CHECK(part.after / part.before == Approx(part.ratio.ratio));
}

TEST_CASE("steps of bench are recorded side by side, with their parts") {
  Json with_steps = bench_result(2000, 600);
  with_steps["steps"] = {
      {"begin_s", {1.0, 1.5}}, {"wait_ms", {100, 0}}, {"copy_ms", {0, 10}}, {"compute_ms", {600, 200}}};
  const RunComparison comparison = compare_runs(bench_result(2000, 600), with_steps, "a", "b");
  CHECK(comparison.before_steps.empty());
  const Recording recording = recording_of(comparison, "unstarve compare a b");
  REQUIRE(recording.tracks.size() == 1);
  CHECK(recording.tracks[0].process == "after: b");
  const std::vector<RecordedSpan>& spans = recording.tracks[0].spans;
  REQUIRE(spans.size() == 6);
  CHECK(spans[0].name == "step 1");
  CHECK(spans[0].seconds == Approx(0.5));  // ends when the next one begins
  CHECK(spans[1].name == "wait for data");
  CHECK(spans[2].begin_s == Approx(1.1));
  CHECK(spans[2].seconds == Approx(0.4));
  CHECK(spans[4].name == "copy");
  CHECK(spans[3].seconds == Approx(0.21));
  for (const Json& wrong : {Json(3), Json{{"begin_s", {1}}}, Json("x")}) {
    with_steps["steps"]["copy_ms"] = wrong;
    CHECK_THROWS_WITH(compare_runs(with_steps, with_steps, "a", "b"), Contains("\"steps\""));
  }
  with_steps["steps"]["copy_ms"] = {1};
  CHECK_THROWS_WITH(compare_runs(with_steps, with_steps, "a", "b"), Contains("lists of other lengths"));
}

TEST_CASE("the headline of the page does not begin with the name of a file") {
  const auto headline = [](double after_s) {
    return report_of(compare_runs(watch_result(0.1, 0.01), watch_result(after_s, 0.01), "a.json", "b.json"), "")
        .curves.at(0)
        .verdict;
  };
  CHECK_THAT(headline(0.13), Catch::StartsWith("the run b.json is slower"));
  CHECK_THAT(headline(0.08), Catch::StartsWith("the run b.json is faster"));
  CHECK_THAT(headline(0.1), Catch::StartsWith("no significant difference"));
}

TEST_CASE("the page shows the threads in a few steps of both runs of watch") {
  const auto result = [](double begin_s) {
    Json json = watch_result(0.1, 0.01);
    RunProfile profile = run_profile_from_json(json_text(json["profile"]), "made up");
    profile.thread_window = {begin_s, 0.2, 0.005, "un.step()", {0, 0.1}, {"main thread 1 python"}, {}};
    profile.thread_window.spans = {{0, ThreadState::kRunning, 0, 0.15}, {0, ThreadState::kPipe, 0.15, 0.05}};
    json["profile"] = parse_ordered_json(to_json(profile));
    return json;
  };
  const Report report = report_of(compare_runs(result(3), result(7), "a", "b"), "unstarve compare a b");
  const std::vector<Timeline>& timelines = report.curves.at(0).timelines;
  REQUIRE(timelines.size() == 2);
  CHECK_THAT(timelines[0].title, Catch::StartsWith("Before: Threads in 2 typical steps from 3.0 s on"));
  CHECK_THAT(timelines[1].title, Catch::StartsWith("After: Threads in 2 typical steps from 7.0 s on"));
  CHECK(timelines[1].spans.size() == 4);  // two steps, two states
  CHECK(report_of(compare_runs(watch_result(0.1, 0.01), watch_result(0.1, 0.01), "a", "b"), "")
            .curves.at(0)
            .timelines.empty());
}

TEST_CASE("results that cannot be compared") {
  CHECK_THROWS_WITH(compare_runs(watch_result(0.1, 0.01), bench_result(1, 1), "a", "b"),
                    Contains("found results of watch and bench"));
  CHECK_THROWS_WITH(compare_runs(Json{{"x", 1}, {"y", 2}}, bench_result(1, 1), "a", "b"),
                    Contains("compare a: found an object with \"x\", \"y\"; expected the result of unstarve watch"));
  CHECK_THROWS_WITH(compare_runs(bench_result(1, 1), Json::array(), "a", "b"),
                    Contains("compare b: found JSON of type array; expected"));
  CHECK_THROWS_WITH(compare_runs(watch_result(0.1, 0.01, 5), watch_result(0.1, 0.01), "a", "b"),
                    Contains("compare a: found 5 steps"));
  RunProfile trace;  // of diagnose
  trace.trace.emplace();
  CHECK_THROWS_WITH(compare_runs(parse_ordered_json(to_json(trace)), watch_result(0.1, 0.01), "a", "b"),
                    Contains("compare a: found the diagnosis of a trace; expected the result of unstarve watch --out"));
  CHECK_THROWS_AS(compare_runs(std::filesystem::path("/no/such/file"), std::filesystem::path("/no/such/file")), Error);
}

TEST_CASE("the period of steps is not sufficient") {
  Json period = watch_result(0.1, 0.01);
  period["profile"]["steps"] = {{"source", "the period"}, {"rate", 8.0}, {"seconds", Json::array()}, {"count", 0}};
  CHECK_THROWS_WITH(compare_runs(watch_result(0.1, 0.01), period, "a", "b"),
                    Contains("compare b: found only the period of its steps, 0.125 s") && Contains("un.step()"));
}

TEST_CASE("a run that is not in a steady state is named") {
  Json drifting = watch_result(0.1, 0.01);
  auto& seconds = drifting["profile"]["steps"]["seconds"];
  for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] = 0.1 + 0.001 * static_cast<double>(i);
  const RunComparison comparison = compare_runs(watch_result(0.1, 0.01), drifting, "a", "b");
  REQUIRE(comparison.warnings.size() == 1);
  CHECK_THAT(comparison.warnings[0], Contains("b: ") && Contains("no steady state"));
}

TEST_CASE("names that are not UTF-8 or control the terminal") {
  const std::string name = "bad\xff\x1b[31m\x9b";
  Json drifting = watch_result(0.1, 0.01);
  auto& seconds = drifting["profile"]["steps"]["seconds"];
  for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] = 0.1 + 0.001 * static_cast<double>(i);
  for (const Json& after : {watch_result(0.13, 0.04), watch_result(0.06, 0.01), drifting}) {
    const RunComparison comparison = compare_runs(watch_result(0.1, 0.01), after, name, name);
    CHECK_THAT(to_text(comparison), Contains("bad") && !Contains("\x1b"));
    CHECK_THAT(to_json(comparison), !Contains("\x1b"));
    const std::string xml = to_junit(comparison), page = render_report(report_of(comparison, name));
    for (const std::string& text : {xml, page}) {
      CHECK(is_utf8(text));
      CHECK(text.find('\x1b') == std::string::npos);
    }
    CHECK((page.find("bad\xEF\xBF\xBD?[31m\xEF\xBF\xBD") != std::string::npos));
    CHECK((xml.find("bad\xEF\xBF\xBD?[31m\xEF\xBF\xBD") != std::string::npos) == comparison.slower);
  }
}

TEST_CASE("JSON and JUnit") {
  const RunComparison comparison = compare_runs(watch_result(0.1, 0.01), watch_result(0.13, 0.04), "a<&\"", "b\x01");
  const Json json = parse_ordered_json(to_json(comparison));
  CHECK(json["slower"] == true);
  CHECK(json["regressed"] == "input");
  CHECK(json["parts"][0]["low"].is_null());
  const std::string xml = to_junit(comparison);
  CHECK_THAT(xml, Contains("tests=\"3\" failures=\"2\"") && Contains("a&lt;&amp;&quot;") && !Contains("\x01"));
  CHECK_THAT(to_junit(compare_runs(watch_result(0.1, 0.01), watch_result(0.1, 0.01), "a", "b")),
             Contains("failures=\"0\"") && !Contains("<failure"));
}

}  // namespace
}  // namespace unstarve
