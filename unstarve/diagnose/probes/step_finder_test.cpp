#include "unstarve/diagnose/probes/step_finder.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

// The main thread of process 1, in function train() called at train.py:100. Each string is a step: the last digits of
// its lines, one for each sample.
StackRecording recording_of(const std::vector<std::string>& steps) {
  StackRecording recording;
  recording.interval_s = 0.02;
  recording.lines.push_back({"<module>", "train.py", 100});
  for (int i = 0; i < 10; ++i) recording.lines.push_back({"train", "train.py", 10 + i});
  recording.threads.push_back({1, true, {}});
  for (const std::string& step : steps)
    for (const char line : step) recording.threads[0].samples.push_back({0, 1 + line - '0'});
  return recording;
}

TEST_CASE("steps are found by the lines of a loop") {
  const StepUse steps = find_steps(recording_of(std::vector<std::string>(20, "11122233")), 1);
  CHECK(steps.source.find("train.py:1") != std::string::npos);
  CHECK(steps.rate == Approx(1 / 0.16));
  REQUIRE(steps.seconds.size() == 19);
  for (const double seconds : steps.seconds) CHECK(seconds == Approx(0.16));
  CHECK(find_steps(recording_of(std::vector<std::string>(20, "11122233")), 2).source.empty());
}

TEST_CASE("a statement of several lines is not several steps") {
  const StepUse steps = find_steps(recording_of(std::vector<std::string>(20, "1111225522552233")), 1);
  CHECK(steps.rate == Approx(1 / 0.32));
}

TEST_CASE("steps that are too short, or no loop") {
  CHECK(find_steps(recording_of(std::vector<std::string>(50, "12")), 1).source.empty());
  CHECK(find_steps(recording_of({"1111111111111", "222222222222222222"}), 1).source.empty());
  CHECK(find_steps(recording_of(std::vector<std::string>(20, "1111111111111")), 1).source.empty());
  CHECK(find_steps(StackRecording{}, 1).source.empty());
  // Other lines are so short that two visits of the line look like one.
  CHECK(find_steps(recording_of(std::vector<std::string>(20, "11111112")), 1).source.empty());
}

TEST_CASE("loops of libraries and loaders are not steps, those of trainers are") {
  struct File {
    const char* file;
    bool found;
  };
  const auto [file, found] = GENERATE(
      File{"/home/me/model.py", true}, File{"model.py", true}, File{"lightning/pytorch/loops/fit_loop.py", true},
      File{"transformers/trainer.py", true}, File{"PIL/Image.py", false}, File{"numpy/lib/stride_tricks.py", false},
      File{"/usr/lib/python3.11/threading.py", false}, File{"/env/lib/python3.11/site-packages/PIL/Image.py", false});
  INFO(file);
  StackRecording recording = recording_of(std::vector<std::string>(20, "11122233"));
  for (std::size_t line = 1; line < recording.lines.size(); ++line) recording.lines[line].file = file;
  CHECK(find_steps(recording, 1).source.empty() != found);
  // The program's own dataset, called by a loader.
  recording.lines[0] = {"__next__", "torch/utils/data/dataloader.py", 700};
  CHECK(find_steps(recording, 1).source.empty());
}

TEST_CASE("steps of several recordings") {
  StepUse sum;
  add_steps(sum, {});
  CHECK(sum.source.empty());
  add_steps(sum, {"the loop at a.py:1 (f)", 2, {0.5, 0.5}, 0});
  add_steps(sum, {"the loop at a.py:1 (f)", 1, {1, 1}, 0});
  CHECK(sum.seconds.size() == 4);
  CHECK(sum.rate == Approx(4 / 3.0));
  add_steps(sum, {"the loop at b.py:1 (f)", 1, {1}, 0});
  CHECK(sum.source == "the loop at a.py:1 (f)");
  add_steps(sum, {"the loop at b.py:1 (f)", 1, std::vector<double>(5, 1), 0});
  CHECK(sum.source == "the loop at b.py:1 (f)");
}

}  // namespace
}  // namespace unstarve
