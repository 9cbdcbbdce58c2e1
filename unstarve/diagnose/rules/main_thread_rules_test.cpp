// Rules about what the main thread does instead of training.
#include <algorithm>
#include <catch2/catch.hpp>

#include "unstarve/diagnose/rules/testing/run_profiles.h"

namespace unstarve {
namespace {

using namespace testing;

TEST_CASE("input of the main process itself") {
  RunProfile profile = run(9.9, {});
  record(profile, {{kMainThread, "__next__", kLoaderFile, 6, 3}, {kMainThread, "forward", "torch/nn.py", 4, 0}});
  CHECK(found(profile) == Names{"serial-input"});
  CHECK(findings_of(profile)[0].gain.gain == Approx(2.5));
  CHECK(findings_of(profile)[0].change.find("num_workers=2") != std::string::npos);
  profile.machine.busy_cores = 7.5;  // others use them
  CHECK(found(profile).contains("serial-input"));
  CHECK(findings_of(profile)[0].gain.gain < 1.6);
  profile = run(9.9, {});
  record(profile, {{kMainThread, "__next__", kLoaderFile, 0.5, 0}, {kMainThread, "forward", "torch/nn.py", 9, 0}});
  CHECK(found(profile) == Names{});
  record(profile, {{kMainThread, "__next__", "tensorflow/python/data/ops/iterator_ops.py", 6, 0}});
  CHECK(findings_of(profile)[0].change.find("num_parallel_calls") != std::string::npos);
  // Reads are slow, not the work.
  record(profile, {{kMainThread, "__next__", kLoaderFile, 6, 0}});
  profile.processes[0].main_thread.waits.network_s = 5;
  CHECK(found(profile) == Names{"slow-reads"});
}

TEST_CASE("stalls of the main thread") {
  RunProfile profile = run(6, {});
  record(profile, {{kMainThread, "save", "torch/serialization.py", 2, 0}});
  CHECK(found(profile) == Names{"checkpoint-stall"});
  CHECK(findings_of(profile)[0].gain.gain == Approx(1.25));
  CHECK(findings_of(profile)[0].evidence.find("train.py:30") != std::string::npos);
  profile.processes[0].main_thread.waits.flush_s = 2;  // of the checkpoint
  CHECK(found(profile) == Names{"checkpoint-stall"});
  record(profile, {{kMainThread, "add_scalar", "torch/utils/tensorboard/writer.py", 1, 0}});
  profile.processes[0].main_thread.waits.flush_s = 0;
  CHECK(found(profile) == Names{"logging-stall"});
  record(profile, {});
  CHECK(found(profile) == Names{});
  profile.processes[0].main_thread.waits.flush_s = 2;
  CHECK(found(profile) == Names{"logging-stall"});
  // Three quarters of the time of log() are fsync(), which the stacks do not show, and little is Image.save().
  profile.stacks.lines = {{"main", "/home/me/train.py", 30},
                          {"log", "/home/me/train.py", 9},
                          {"save", "PIL/Image.py", 5},
                          {"backward", "torch/_tensor.py", 6}};
  profile.stacks.stacks = {
      {kMainThread, {0, 1}, 4, 0, 9}, {kMainThread, {0, 1, 2}, 0.08, 0, 9}, {kMainThread, {0, 3}, 5.5, 0, 9}};
  CHECK(findings_of(profile)[0].gain.gain == Approx(1 / (1 - 0.408)));
  profile.processes[0].main_thread.waits.flush_s = 0.2;
  CHECK(found(profile) == Names{});
  record(profile, {{kMainThread, "backend_compile", "jax/_src/compiler.py", 3, 0}});
  CHECK(found(profile) == Names{"recompilation"});
  profile.stacks.stacks[0].last_s = 4;  // at the beginning
  CHECK(found(profile) == Names{});
}

TEST_CASE("the main thread writes logs with functions of the program and waits for the disk") {
  RunProfile profile = run(6, {});
  record(profile, {{kMainThread, "backward", "torch/_tensor.py", 5, 0}});
  PythonStacks& stacks = profile.stacks;
  stacks.lines.push_back({"log", kOwnFile, 20});
  stacks.lines.push_back({"write", kOwnFile, 10, true});  // os.fsync(file)
  stacks.lines.push_back({"write", kOwnFile, 8});         // open(): it truncates the file
  stacks.stacks.push_back({kMainThread, {0, 2, 3}, 2.5, 0, 9});
  stacks.stacks.push_back({kMainThread, {0, 2, 4}, 1.5, 0, 9});
  stacks.stacks.push_back({kMainThread, {0, 2}, 0.5, 0, 9});
  REQUIRE(found(profile) == Names{"logging-stall"});
  CHECK(findings_of(profile)[0].gain.gain == Approx(1 / 0.55));  // all that log() does
  CHECK_THAT(findings_of(profile)[0].evidence, Catch::Contains("train.py:10 (write)"));
  profile.processes[0].main_thread.waits.flush_s = 2;  // a part of it
  CHECK(findings_of(profile)[0].gain.gain == Approx(1 / 0.55));
  stacks.lines[3].flushes = false;
  CHECK(findings_of(profile)[0].gain.gain == Approx(1 / 0.8));  // only the wait is known
  stacks.lines[3].flushes = true;
  // A checkpoint.
  stacks.lines.push_back({"save", "torch/serialization.py", 5});
  stacks.stacks.push_back({kMainThread, {0, 2, 5}, 0.5, 0, 9});
  CHECK(found(profile) == Names{"checkpoint-stall"});
}

TEST_CASE("pauses between steps") {
  RunProfile profile = run(5, {});
  profile.steps = {"un.step()", 29, std::vector<double>(200, 0.01), 200};
  CHECK(found(profile) == Names{});
  for (std::size_t step = 24; step < 200; step += 25) profile.steps.seconds[step] = 0.61;
  REQUIRE(found(profile) == Names{"step-pauses"});
  RunFinding finding = findings_of(profile)[0];
  CHECK(finding.lost == Approx(8 * 0.6 / 6.8));
  CHECK(finding.evidence.find("one in 25") != std::string::npos);
  CHECK(finding.change.find("gc.freeze()") != std::string::npos);
  // The stacks show what the pauses are.
  record(profile, {{kMainThread, "evaluate", kOwnFile, 7, 0}, {kMainThread, "forward", "torch/nn.py", 3, 0}});
  finding = findings_of(profile)[0];
  CHECK(finding.rule == "evaluation-stall");
  record(profile,
         {{kMainThread, "save", "torch/serialization.py", 7, 0}, {kMainThread, "forward", "torch/nn.py", 3, 0}});
  CHECK(found(profile) == Names{"checkpoint-stall"});
  profile.stacks = {};
  // Steps of two kinds, as of a loader with two workers; and a slow start.
  profile.steps.seconds.assign(200, 0.01);
  for (std::size_t step = 0; step < 200; step += 2) profile.steps.seconds[step] = 0.2;
  CHECK(found(profile) == Names{});
  profile.steps.seconds.assign(200, 0.01);
  profile.steps.seconds[0] = profile.steps.seconds[1] = profile.steps.seconds[100] = 2;
  CHECK(found(profile) == Names{});
}

TEST_CASE("evaluation stops the training, without known steps") {
  RunProfile profile = run(9.5, {});
  record(profile, {{kMainThread, "evaluate", kOwnFile, 4, 0}, {kMainThread, "forward", "torch/nn.py", 6, 0}});
  REQUIRE(found(profile) == Names{"evaluation-stall"});
  const RunFinding finding = findings_of(profile)[0];
  CHECK(finding.title == "evaluation stops the training");
  CHECK(finding.evidence == "the main thread is in evaluate() for 40 % of the time, at train.py:5 (evaluate)");
  CHECK(finding.gain.gain == Approx(1 / 0.6));
  CHECK(finding.gain.low < 1.6);
  CHECK(finding.changes.unstarve.find("--evaluate-every") != std::string::npos);
  record(profile, {{kMainThread, "evaluate", kOwnFile, 0.4, 0}, {kMainThread, "forward", "torch/nn.py", 9, 0}});
  CHECK(found(profile) == Names{});  // rarely
  record(profile, {{kMainThread, "evaluate", kOwnFile, 9.5, 0}});
  CHECK(found(profile) == Names{});  // a program that only evaluates
  record(profile, {{kMainThread, "evaluate", "keras/src/trainers/trainer.py", 4, 0}});
  CHECK(found(profile) == Names{});  // a function of a library, which the program may call for another reason
  // A test of a program that trains.
  record(profile, {{kMainThread, "test_training", kOwnFile, 4, 0}, {kMainThread, "forward", "torch/nn.py", 5, 0}});
  CHECK(found(profile) == Names{"evaluation-stall"});
  profile.stacks.lines.push_back({"backward", "torch/_tensor.py", 9});
  profile.stacks.stacks.push_back({kMainThread, {0, 1, 3}, 1, 0, 9});
  CHECK(found(profile) == Names{});
}

TEST_CASE("steps that become slower") {
  RunProfile profile = run(5, {});
  profile.steps = {"un.step()", 29, {}, 300};
  for (int i = 0; i < 300; ++i) profile.steps.seconds.push_back(0.01 + 0.0002 * i);
  REQUIRE(found(profile) == Names{"slowing-steps"});
  CHECK(findings_of(profile)[0].evidence.find("0.016, 0.028, 0.040, 0.052 and 0.064 s") != std::string::npos);
  profile.processes[0].run_delay_s = 5;  // for cores that other programs may use
  CHECK(found(profile) == Names{});
  profile.processes[0].run_delay_s = 0;
  std::ranges::reverse(profile.steps.seconds);
  CHECK(found(profile) == Names{"few-steps"});  // faster: caches are filled, and the run has no constant speed
}

TEST_CASE("Python code in the main thread") {
  RunProfile profile = run(9.5, {});
  record(profile, {{kMainThread, "augment", kOwnFile, 6, 5}, {kMainThread, "forward", "torch/nn.py", 4, 0.5}});
  CHECK(found(profile) == Names{"python-bound"});
  // One line takes its time: a call that can be removed.
  RunFinding finding = findings_of(profile)[0];
  CHECK(finding.gain.gain == Approx(2.5));
  CHECK(finding.lost == Approx(0.6));  // the time that the gain saves: findings are ordered by it
  CHECK(finding.gain.low < 2.2);
  CHECK(finding.gain.high > 2.5);
  CHECK(gain_without(0.6, 10'000).high == Approx(2.5).epsilon(0.02));  // after many samples
  CHECK(finding.evidence.find("with waits") == std::string::npos);
  record(profile, {{kMainThread, "augment", kOwnFile, 9, 5}});  // it waits for a core, too
  CHECK(findings_of(profile)[0].evidence.ends_with(
      "for 50 % in this function; with waits, it is in this function for 90 %"));
  record(profile, {{kMainThread, "augment", kOwnFile, 3, 2.5}, {kMainThread, "augment", kOwnFile, 3, 2.5}});
  profile.stacks.lines.back().line = 99;  // a loop of two lines: operations on whole arrays remain
  CHECK(findings_of(profile)[0].gain.gain == Approx(1 / (1 - 0.6 * 0.85)));
  record(profile, {{kMainThread, "forward", "torch/nn.py", 9, 5}, {kMainThread, "main", kOwnFile, 1, 0.5}});
  CHECK(found(profile) == Names{"small-steps"});
  CHECK(findings_of(profile)[0].gain.low == Approx(1 / (1 - 0.55 / 2)));
  CHECK(findings_of(profile)[0].gain.high == 2);
  record(profile, {{kMainThread, "forward", "torch/nn.py", 9, 0.4}, {kMainThread, "main", kOwnFile, 1, 0.4}});
  CHECK(found(profile) == Names{});
  // Its operators use several cores.
  profile = run(30, {});
  profile.processes[0].busiest_thread_s = 9.5;
  record(profile, {{kMainThread, "forward", "torch/nn.py", 9, 5}});
  CHECK(found(profile) == Names{});
}

}  // namespace
}  // namespace unstarve
