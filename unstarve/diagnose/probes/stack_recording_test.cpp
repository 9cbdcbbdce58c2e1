#include "unstarve/diagnose/probes/stack_recording.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

// Shortened output of py-spy 0.4.1 for a program with a helper thread and a forked worker.
constexpr const char* kRecorded = R"({"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[
{"type":"sampled","name":"Process 72 Thread 72 \"MainThread\"","unit":"seconds","startValue":0.0,"endValue":0.1,
 "samples":[[5,4],[5,4],[5,6]],"weights":[0.05,0.05,0.05]},
{"type":"sampled","name":"Process 72 Thread 14 \"helper\"","unit":"seconds","startValue":0.0,"endValue":0.05,
 "samples":[[5,0]],"weights":[0.05]},
{"type":"sampled","name":"Process 15 Thread 15 \"MainThread\"","unit":"seconds","startValue":0.0,"endValue":0.1,
 "samples":[[5,3,2,1,0],[5,3,2,1,0]],"weights":[0.05,0.05]}],
"shared":{"frames":[{"name":"work","file":"/home/me/t.py","line":3,"col":null},
{"name":"run","file":"/usr/lib/python3.11/multiprocessing/process.py","line":108,"col":null},
{"name":"<module>","file":"/home/me/t.py","line":6,"col":null},
{"name":"process 15:\"python3 t.py\"","file":"","line":0,"col":null},
{"name":"<module>","file":"/home/me/t.py","line":9,"col":null},
{"name":"process 72:\"python3 t.py\"","file":"","line":0,"col":null},
{"name":"<module>","file":"/home/me/t.py","line":10,"col":null}]},
"activeProfileIndex":null,"exporter":"py-spy@0.4.1","name":"py-spy profile"})";

TEST_CASE("a recording of py-spy") {
  const StackRecording recording = parse_stack_recording(kRecorded);
  CHECK(recording.interval_s == Approx(0.05));
  REQUIRE(recording.threads.size() == 3);
  CHECK(recording.threads[0].process == 72);
  CHECK(recording.threads[0].is_main);
  CHECK_FALSE(recording.threads[1].is_main);
  CHECK(recording.threads[2].process == 15);
  CHECK(recording.threads[2].is_main);
  CHECK(recording.threads[0].samples == std::vector<std::vector<int>>{{4}, {4}, {6}});  // without the process
  CHECK(recording.threads[2].samples[0] == std::vector<int>{2, 1, 0});
  CHECK(recording.lines[1] == CodeLine{"run", "/usr/lib/python3.11/multiprocessing/process.py", 108});
  std::string whole_paths = kRecorded;
  whole_paths.replace(whole_paths.find("/home/me/t.py"), 13, "/v/lib/python3.11/site-packages/torch/a.py");
  CHECK(parse_stack_recording(whole_paths).lines[0] == CodeLine{"work", "torch/a.py", 3});
}

TEST_CASE("lines of the program that flush files are known by their text") {
  StackRecording recording = parse_stack_recording(kRecorded);
  std::vector<std::string> read;
  mark_flushes(recording, [&](const std::string& file) -> std::optional<std::string> {
    read.push_back(file);
    return "import os\n\n    os.fsync(f.fileno())\n4\n5\nwork()  # then os.fsync()\n7\n8\nos.fdatasync(f)\n";
  });
  CHECK(read == std::vector<std::string>{"/home/me/t.py"});  // no library, each file once
  std::vector<bool> flushes;
  for (const CodeLine& line : recording.lines) flushes.push_back(line.flushes);
  CHECK(flushes == std::vector<bool>{true, false, false, false, true, false, false});
  StackSum sum;
  sum.add(parse_stack_recording(kRecorded), 72, RecordingKind::kAll, 0.15, 1);
  sum.add(recording, 72, RecordingKind::kAll, 0.15, 2);
  const PythonStacks stacks = sum.stacks();
  CHECK(std::count_if(stacks.lines.begin(), stacks.lines.end(), [](const CodeLine& line) { return line.flushes; }) ==
        2);
  mark_flushes(recording, [](const std::string&) { return std::nullopt; });  // the file is gone
}

TEST_CASE("a recording of one process has its number from the caller") {
  const StackRecording recording = parse_stack_recording(
      R"({"profiles":[{"type":"sampled","name":"Thread 72 \"MainThread\"","samples":[[0]],"weights":[0.05]},
{"type":"sampled","name":"Thread 14 \"Process 9\"","samples":[[0]],"weights":[0.05]}],
"shared":{"frames":[{"name":"<module>","file":"/home/me/t.py","line":9}]}})",
      72);
  REQUIRE(recording.threads.size() == 2);
  CHECK(recording.threads[0].process == 72);
  CHECK(recording.threads[0].is_main);
  CHECK(recording.threads[1].process == 72);
  CHECK_FALSE(recording.threads[1].is_main);
}

// Without it, lines that call Python functions fast would have too small a share.
TEST_CASE("a sample without frames is a missing one") {
  const StackRecording recording = parse_stack_recording(
      R"({"profiles":[{"type":"sampled","name":"Thread 72 \"MainThread\"","samples":[[0],[],[0],[],[0]],
"weights":[0.1,0.1,0.1,0.1,0.1]}],"shared":{"frames":[{"name":"wave","file":"/home/me/t.py","line":9}]}})",
      72);
  CHECK(recording.threads.at(0).samples == std::vector<std::vector<int>>{{0}, {0}, {0}});
  StackSum sum;
  sum.add(recording, 72, RecordingKind::kAll, 0.5, 1);
  CHECK(sum.stacks().stacks.at(0).seconds == Approx(0.5));
}

TEST_CASE("recordings of another form are rejected") {
  const std::string whole = kRecorded;
  for (std::size_t size = 0; size < whole.size(); size += 7)
    CHECK_THROWS_AS(parse_stack_recording(whole.substr(0, size)), Error);
  for (const auto& [from, to] : {std::pair{"[5,3,2,1,0]", "[5,3,2,1,7]"}, std::pair{"[5,3,2,1,0]", "[-1]"},
                                 std::pair{"\"sampled\"", "\"evented\""}, std::pair{"[0.05,0.05,0.05]", "[0.05]"},
                                 std::pair{"[0.05,0.05,0.05]", "[-1,0.05,0.05]"}}) {
    std::string changed = whole;
    changed.replace(changed.find(from), std::string(from).size(), to);
    CHECK_THROWS_AS(parse_stack_recording(changed), Error);
  }
}

TEST_CASE("recordings are added up") {
  StackSum sum;
  const StackRecording recording = parse_stack_recording(kRecorded);
  sum.add(recording, 72, RecordingKind::kAll, 0.15, 5);
  sum.add(recording, 72, RecordingKind::kAll, 0.15, 9);
  sum.add(recording, 72, RecordingKind::kInterpreter, 0.3, 12);
  const PythonStacks stacks = sum.stacks();
  CHECK(stacks.seconds == Approx(0.3));
  CHECK(stacks.interpreter_s == Approx(0.3));
  CHECK(stacks.processes == 1);
  REQUIRE(stacks.stacks.size() == 4);
  CHECK(stacks.stacks[0].seconds == Approx(0.2));
  CHECK(stacks.stacks[0].interpreter_s == Approx(0.1));
  CHECK(stacks.stacks[0].last_s == 12);
  int loaders = 0, helpers = 0;
  double main_s = 0;
  for (const StackUse& stack : stacks.stacks) {
    loaders += stack.thread == StackThread::kLoader ? 1 : 0;
    helpers += stack.thread == StackThread::kHelper ? 1 : 0;
    if (stack.thread == StackThread::kMain) main_s += stack.seconds;
  }
  CHECK(loaders == 1);
  CHECK(helpers == 1);
  CHECK(main_s == Approx(0.3));
}

TEST_CASE("functions that end before the first gradients are the start of the program") {
  StackRecording recording;
  recording.interval_s = 0.1;
  recording.lines = {{"main", "/x/train.py", 9},          {"load_all", "/x/train.py", 3}, {"open", "PIL/Image.py", 5},
                     {"backward", "torch/_tensor.py", 5}, {"batch", "/x/train.py", 6},    {"start", "threading.py", 5}};
  const std::vector<int> loads{0, 1, 2}, decodes{0, 4, 2}, trains{0, 3}, other{5};
  recording.threads = {{72, true, {other, loads, loads, decodes, {0}, trains, decodes, trains}},
                       {72, false, {loads, loads, loads, loads, trains, trains, trains, trains}}};
  recording.from_start = true;
  const auto seconds_of = [](const StackSum& sum, StackThread thread, const char* function) {
    const PythonStacks stacks = sum.stacks();
    double seconds = 0;
    for (const StackUse& stack : stacks.stacks) {
      const bool has = std::ranges::any_of(
          stack.lines, [&](int index) { return stacks.lines[static_cast<std::size_t>(index)].function == function; });
      if (stack.thread == thread && has) seconds += stack.seconds;
    }
    return seconds;
  };
  StackSum sum;
  sum.add(recording, 72, RecordingKind::kAll, 0.8, 5);
  CHECK(sum.seconds() == Approx(0.5));
  CHECK(seconds_of(sum, StackThread::kMain, "load_all") == 0);
  CHECK(seconds_of(sum, StackThread::kMain, "batch") == Approx(0.2));  // also the one before the first gradients
  CHECK(seconds_of(sum, StackThread::kMain, "backward") == Approx(0.2));
  CHECK(seconds_of(sum, StackThread::kHelper, "load_all") == Approx(0.4));
  sum.add(recording, 72, RecordingKind::kAll, 0.8, 9);  // the program trains since the first recording
  CHECK(seconds_of(sum, StackThread::kMain, "load_all") == Approx(0.2));
  // The first gradients are in the second recording.
  StackRecording first = recording;
  first.threads[0].samples = {other, loads, loads, decodes};
  StackSum two;
  two.add(first, 72, RecordingKind::kAll, 0.4, 5);
  CHECK(two.seconds() == Approx(0.4));
  two.add(recording, 72, RecordingKind::kAll, 0.8, 9);
  CHECK(two.seconds() == Approx(0.1 + 0.5));
  CHECK(seconds_of(two, StackThread::kMain, "load_all") == 0);
  CHECK(seconds_of(two, StackThread::kMain, "batch") == Approx(0.3));
  // Another rank trains already: what only it does remains.
  StackRecording other_rank = recording;
  other_rank.threads[0].process = 73;
  other_rank.threads[0].samples = {trains, loads};
  StackSum ranks;
  CHECK(ranks.add(other_rank, 73, RecordingKind::kAll, 0.2, 5) == Approx(0.2));
  CHECK(ranks.add(recording, 72, RecordingKind::kAll, 0.8, 9) == Approx(0.5));
  CHECK(seconds_of(ranks, StackThread::kMain, "load_all") == Approx(0.1));
  // It was running before, or computes no gradients that are seen.
  recording.from_start = false;
  StackSum later;
  later.add(recording, 72, RecordingKind::kAll, 0.8, 5);
  CHECK(seconds_of(later, StackThread::kMain, "load_all") == Approx(0.2));
  recording.from_start = true;
  recording.lines[3].function = "forward";
  StackSum unknown;
  unknown.add(recording, 72, RecordingKind::kAll, 0.8, 5);
  CHECK(seconds_of(unknown, StackThread::kMain, "load_all") == Approx(0.2));
}

TEST_CASE("one worker represents all, as long as the main process was recorded") {
  StackRecording worker;
  worker.interval_s = 0.1;
  worker.lines = {{"fetch", "torch/utils/data/fetch.py", 9}, {"wait", "threading.py", 1}};
  worker.threads = {{15, true, {{0}, {0}, {0}, {0}}}, {15, false, {{1}, {1}}}};
  StackSum sum;
  sum.add(StackRecording{0.1, {{"f", "/x/a.py", 1}}, {{72, true, {{0}, {0}}}}}, 72, RecordingKind::kAll, 0.2, 5);
  sum.add_worker(worker, 3, 9);
  const PythonStacks stacks = sum.stacks();
  CHECK(stacks.seconds == Approx(0.2));
  CHECK(stacks.processes == 3);
  REQUIRE(stacks.stacks.size() == 3);
  double fetch = 0, wait = 0;
  for (const StackUse& stack : stacks.stacks) {
    if (stack.thread != StackThread::kLoader) continue;
    (stacks.lines[static_cast<std::size_t>(stack.lines[0])].function == "fetch" ? fetch : wait) += stack.seconds;
  }
  CHECK(fetch == Approx(3 * 0.2));  // all of the time, in three processes
  CHECK(wait == Approx(3 * 0.1));
}

TEST_CASE("a forked worker has only its own frames") {
  StackRecording recording;
  recording.interval_s = 0.1;
  recording.lines = {{"__iter__", "torch/utils/data/dataloader.py", 1},
                     {"_bootstrap", "/usr/lib/python3.11/multiprocessing/process.py", 314},
                     {"fetch", "torch/utils/data/fetch.py", 9}};
  recording.threads.push_back({2, true, {{0, 1, 2}}});
  StackSum sum;
  sum.add(recording, 1, RecordingKind::kAll, 0.1, 1);
  CHECK(sum.stacks().stacks[0].lines == std::vector<int>{1, 2});
}

TEST_CASE("the import of modules does not count") {
  StackRecording recording;
  recording.interval_s = 0.1;
  recording.lines = {{"<module>", "train.py", 1}, {"_find_and_load", "<frozen importlib._bootstrap>", 9}};
  recording.threads.push_back({1, true, {{0, 1}, {0, 1}, {0}, {0}, {0}}});
  StackSum sum;
  sum.add(recording, 1, RecordingKind::kAll, 0.5, 1);
  CHECK(sum.stacks().seconds == Approx(0.3));
  REQUIRE(sum.stacks().stacks.size() == 1);
  CHECK(sum.stacks().stacks[0].seconds == Approx(0.3));
}

TEST_CASE("missing samples of the main process count as those that were taken") {
  StackRecording recording;
  recording.interval_s = 0.1;
  recording.lines = {{"step", "train.py", 1}, {"augment", "train.py", 2}, {"fetch", "torch/utils/data/fetch.py", 9}};
  recording.threads.push_back({1, true, {{0}, {1}, {1}, {1}}});  // of 8
  recording.threads.push_back({2, true, {{2}, {2}}});
  StackSum sum;
  sum.add(recording, 1, RecordingKind::kAll, 0.8, 1);
  CHECK(sum.stacks().seconds == Approx(0.8));
  CHECK(sum.stacks().stacks[0].seconds == Approx(0.6));
  double loader_s = 0;
  for (const StackUse& stack : sum.stacks().stacks)
    if (stack.thread == StackThread::kLoader) loader_s += stack.seconds;
  CHECK(loader_s == Approx(0.2));
}

TEST_CASE("missing samples are mostly those of lines that call different functions") {
  StackRecording recording;
  recording.interval_s = 0.1;
  recording.lines = {{"main", "train.py", 1},         {"backward", "torch/_tensor.py", 600},
                     {"wave", "train.py", 2},         {"roll", "numpy/core/numeric.py", 9},
                     {"where", "numpy/core/a.py", 1}, {"sin", "numpy/core/b.py", 1}};
  RecordedThread thread{1, true, {}};
  for (int i = 0; i < 50; ++i) thread.samples.push_back({0, 1});
  for (int i = 0; i < 30; ++i) thread.samples.push_back({0, 2, 3 + i % 3});
  recording.threads.push_back(thread);  // 80 of 100
  StackSum sum;
  sum.add(recording, 1, RecordingKind::kAll, 10, 10);
  double main_s = 0, wave_s = 0;
  for (const StackUse& stack : sum.stacks().stacks) (stack.lines.size() == 2 ? main_s : wave_s) += stack.seconds;
  CHECK(main_s + wave_s == Approx(10));
  const double wave = 30 * (0.02 + 2.0 / 3 * 30 / 35), main = 50 * 0.02;
  CHECK(wave_s == Approx(3 + 2 * wave / (wave + main)));
}

TEST_CASE("the number of stacks is limited, and those with most time are kept") {
  StackRecording recording;
  recording.interval_s = 0.01;
  recording.threads.push_back({1, true, {}});
  for (int i = 0; i < 6000; ++i) {
    recording.lines.push_back({"f", "train.py", i});
    for (int repeat = 0; repeat <= (i % 100 == 0 ? 1 : 0); ++repeat) recording.threads[0].samples.push_back({i});
  }
  StackSum sum;
  sum.add(recording, 1, RecordingKind::kAll, 60, 60);
  const PythonStacks stacks = sum.stacks();
  CHECK(stacks.stacks.size() == 4000);
  CHECK(stacks.lines.size() == 4000);
  for (std::size_t i = 0; i < 60; ++i) {
    CHECK(stacks.stacks[i].seconds == Approx(0.02));
    CHECK(stacks.lines[static_cast<std::size_t>(stacks.stacks[i].lines[0])].line % 100 == 0);
  }
}

}  // namespace
}  // namespace unstarve
