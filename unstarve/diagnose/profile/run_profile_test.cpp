#include "unstarve/diagnose/profile/run_profile.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/profile/roles.h"

namespace unstarve {
namespace {

using Catch::Contains;

TEST_CASE("a profile is the same after JSON") {
  RunProfile profile;
  profile.command = "python train.py \xff";
  profile.exit_code = 3;
  profile.watching = {12.5, 100, 0.01, 0.02, "by a signal", "Unknown Error", "no CUPTI"};
  profile.machine.affinity_cores = 4;
  profile.timeline = {1, {0.5}, {0.25}, {0}, {1e6}, {2e9}, {0.75}, {3e6}, {1e3}, {2e3}, {5}};
  profile.thread_window = {3, 0.3, 0.005, "un.step()", {0, 0.1}, {"main"}, {{0, ThreadState::kPipe, 0.1, 0.05}}};
  profile.gpus.resize(2);
  profile.gpus[1].used = true;
  profile.gpus[1].samples = 40;
  profile.gpus[1].busy_samples = 30;
  profile.gpus[1].utilisation_shares[9] = 0.5;
  profile.gpus[1].slowdowns = {{"too hot", 0.25}};
  profile.gpus[1].others = {{7, "other", 8, 0.5, -1}};
  ProcessUse use;
  use.pid = 7;
  use.role = ProcessRole::kLoader;
  use.name = "python";
  use.threads = {{"pt_data_worker", 1, 2.5, 0.5, {}}};
  use.threads[0].waits.pipe_s = 1.5;
  use.locked_bytes = 4096;
  use.pinned_bytes = 8192;
  use.main_system_s = 0.25;
  profile.processes = {use};
  profile.stacks.lines = {{"main", "train.py", 7}, {"write", "train.py", 9, true}};
  profile.stacks.stacks = {{StackThread::kLoader, {0}, 1.5, 0, 9}};
  profile.steps = {"un.step()", 2, {0.5, 0.5}, 3};
  CHECK(to_json(profile).find("ranks") == std::string::npos);
  CHECK(run_profile_from_json(to_json(profile), "x.json").ranks.empty());
  RankUse rank;
  rank.numbers = {3, 1};
  rank.host.name = "node7";
  rank.stacks.hottest = "train.py:10 (train)";
  rank.steps = {3, 2, {100.5, 101, 101.5}};
  profile.ranks = {rank};
  const std::string json = to_json(profile);
  const RunProfile read = run_profile_from_json(json, "x.json");
  CHECK(to_json(read) == json);
  CHECK(read.command == "python train.py \xef\xbf\xbd");  // not UTF-8
  CHECK(read.processes[0].role == ProcessRole::kLoader);
  CHECK(read.processes[0].threads[0].cpu_s == 2.5);
  CHECK(read.processes[0].pinned_bytes == 8192);
  CHECK(read.timeline.major_faults_per_s == std::vector<double>{5});
  REQUIRE(read.thread_window.spans.size() == 1);
  CHECK(read.thread_window.spans[0].state == ThreadState::kPipe);
  CHECK(read.processes[0].threads[0].waits.pipe_s == 1.5);
  CHECK(read.stacks.stacks[0].thread == StackThread::kLoader);
  CHECK_FALSE(read.stacks.lines[0].flushes);
  CHECK(read.stacks.lines[1].flushes);
  CHECK(read.processes[0].main_system_s == 0.25);
  CHECK(read.steps.seconds.size() == 2);
  REQUIRE(read.ranks.size() == 1);
  CHECK(read.ranks[0].numbers == RankNumbers{3, 1});
  CHECK(read.ranks[0].steps.ends_s == rank.steps.ends_s);
  RunProfile wrong = profile;
  wrong.ranks[0].steps.count = 2;
  CHECK_THROWS_WITH(run_profile_from_json(to_json(wrong), "x.json"), Contains("ends of steps"));
  wrong.ranks[0].steps = {3, 2, {2, 1}};
  CHECK_THROWS_WITH(run_profile_from_json(to_json(wrong), "x.json"), Contains("ends of steps"));
  for (const ThreadSpan& span : {ThreadSpan{1}, ThreadSpan{-1}, ThreadSpan{0, ThreadState{9}}}) {
    wrong = profile;
    wrong.thread_window.spans[0] = span;
    CHECK_THROWS_WITH(run_profile_from_json(to_json(wrong), "x.json"), Contains("in thread_window"));
  }
  CHECK(read.watching.gpus_missing == "Unknown Error");
  CHECK(read.watching.kernels_missing == "no CUPTI");
  CHECK(read.timeline.gpu == std::vector<double>{0.75});
  REQUIRE(read.gpus.size() == 2);
  CHECK(read.gpus[1].used);
  CHECK(read.gpus[1].utilisation_shares[9] == 0.5);
  CHECK(read.gpus[1].slowdowns[0].reason == "too hot");
  CHECK(read.gpus[1].others[0].utilisation == -1);
  for (const char* const field : {"thread_window", "flushing"}) {  // missing if there are none
    std::string without = json;
    for (std::size_t at = 0; (at = without.find(field, at)) != std::string::npos;) without[at] = 'X';
    CHECK_NOTHROW(run_profile_from_json(without, "x.json"));
  }
  profile.stacks.stacks[0].lines = {2};
  CHECK_THROWS_WITH(run_profile_from_json(to_json(profile), "x.json"), Contains("line 2 of a stack"));
  std::string flushing = json;
  flushing.replace(flushing.find("\"flushing\": [") + 13, 5, " 7 ");
  CHECK_THROWS_WITH(run_profile_from_json(flushing, "x.json"), Contains("line 7 in stacks.flushing"));
  CHECK_THROWS_WITH(run_profile_from_json("{\"version\": 1}", "x.json"),
                    Contains("read x.json: found version 1 of the profile; expected 2. Make the profile again"));
  CHECK_THROWS_AS(run_profile_from_json("{\"version\": 2}", "x.json"), Error);
  std::string text = to_json(RunProfile());
  const auto without = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  CHECK_THROWS_WITH(
      run_profile_from_json(without("quota_cores", "quota"), "x.json"),
      Contains("read x.json: found no profile of a run: machine: key 'quota_cores' not found; expected") &&
          !Contains("json.exception"));
  CHECK_THROWS_WITH(run_profile_from_json(without("\"affinity_cores\": 1", "\"affinity_cores\": \"1\""), "x.json"),
                    Contains("machine/affinity_cores: type must be number, but is string"));
  for (std::size_t size = 0; size < json.size(); size += 7)
    CHECK_THROWS_AS(run_profile_from_json(json.substr(0, size), "x.json"), Error);
}

TEST_CASE("what a trace shows is the same after JSON") {
  RunProfile profile;
  CHECK(to_json(profile).find("trace") == std::string::npos);
  CHECK(to_json(profile).find("gpu") == std::string::npos);
  CHECK_FALSE(run_profile_from_json(to_json(profile), "x").trace);
  TraceUse trace;
  trace.format = "Kineto";
  trace.framework = Framework::kJax;
  trace.steps = {{0.5, {0.25, 0, 0, 0, 0, 0.125, 0, 0.125}}};
  trace.devices.resize(1);
  trace.devices[0].name = "A100";
  trace.copies = {{CopyDirection::kToHost, MemoryKind::kPinned, 1, 2, 3, 0.5, 0.25}};
  trace.runtime.launches = {7, 0.5};
  trace.kernels = {{"gemm", 5, 0.25}};
  trace.gaps.count[3] = 4;
  trace.gaps.seconds[3] = 0.5;
  trace.window = {0.25, {0, 0.125}, {"main thread"}, {"gemm"}, {{0, 0, StepActivity::kLoader, 0.5, 0.125}}, 7};
  trace.memory = {3, 2, 4096, 2048, 0.5, {1024, 2048}};
  trace.pinned = {1, 0, 8192, 8192, 0, {}};
  trace.unified = {5, 7, 1, 0.25, 0.125, 0.375};
  trace.fallback = {5, 0.25, 1 << 20, {{"aten::linalg_svd", 5, 0.2}}};
  trace.arithmetic = {12, 3e12, 1e9, 2e12};
  trace.processes = {{4711, 1, 900, 5, 0.25, 0.5, 2048, 0.5, "gone"}};
  profile.trace = trace;
  const RunProfile read = run_profile_from_json(to_json(profile), "x");
  REQUIRE(read.trace);
  CHECK(to_json(read) == to_json(profile));
  CHECK(read.trace->framework == Framework::kJax);
  CHECK(read.trace->copies[0].host_memory == MemoryKind::kPinned);
  CHECK(read.trace->steps[0].parts[5] == 0.125);
  CHECK(read.trace->memory.levels == std::vector<double>{1024, 2048});
  CHECK(read.trace->processes[0].missing == "gone");
  CHECK(read.trace->pinned.peak_bytes == 8192);
  CHECK(read.trace->unified.gpu_faults == 7);
  CHECK(read.trace->fallback.operators[0].name == "aten::linalg_svd");
  CHECK(read.trace->arithmetic.operations_16 == 3e12);
  CHECK(read.trace->arithmetic.misaligned_16 == 2e12);
  std::string json = to_json(profile);
  for (const std::string field : {"gaps", "window", "misaligned_16", "module_loading_s"}) {
    std::string without = json;
    without.replace(without.find(field), field.size(), "something");
    CHECK_THROWS_WITH(run_profile_from_json(without, "x"), Contains("key '" + field + "' not found"));
  }
  for (const WindowSpan& span : {WindowSpan{1, 0}, WindowSpan{0, -1}, WindowSpan{0, 0, StepActivity{9}}}) {
    RunProfile broken = profile;
    broken.trace->window.spans[0] = span;
    CHECK_THROWS_WITH(run_profile_from_json(to_json(broken), "x.json"), Contains("x.json: found"));
  }
  json.replace(json.find("analysed_s"), 10, "something_");
  CHECK_THROWS_AS(run_profile_from_json(json, "x"), Error);
}

ProcessUse process(int pid, int parent, const char* name, const char* command, double cpu_s) {
  ProcessUse use;
  use.pid = pid;
  use.parent = parent;
  use.name = name;
  use.command = command;
  use.cpu_s = cpu_s;
  use.end_s = 10;
  return use;
}

TEST_CASE("a quota limits the cores that are usable") {
  MachineUse machine;
  machine.affinity_cores = 8;
  CHECK(usable_cores(machine) == 8);
  machine.quota_cores = 2.5;
  CHECK(usable_cores(machine) == 2.5);
  machine.quota_cores = 16;
  CHECK(usable_cores(machine) == 8);
}

std::vector<ProcessRole> roles_of(std::vector<ProcessUse> all) {
  set_roles(all);
  std::vector<ProcessRole> roles;
  for (const ProcessUse& use : all) roles.push_back(use.role);
  return roles;
}
using R = ProcessRole;

TEST_CASE("roles under torchrun, with forked workers") {
  std::vector<ProcessUse> all{
      process(1, 0, "bash", "bash run.sh", 0.1),
      process(9, 1, "bash", "bash run.sh", 0.1),  // a subshell
      process(2, 1, "python", "python -m torch.distributed.run train.py", 5),
      process(3, 2, "python", "python train.py", 40),
      process(4, 2, "python", "python train.py", 41),
      process(5, 3, "pt_data_worker", "python train.py", 60),
      process(7, 3, "python", "python train.py --other", 60),
      process(8, 3, "nvidia-smi", "nvidia-smi", 0.2),
      process(0, 0, "python", "python, several processes", 500),
  };
  all[6].threads = {{"pt_data_worker", 1, 1, 0, {}}};
  CHECK(roles_of(all) == std::vector<R>{R::kOther, R::kOther, R::kOther, R::kMain, R::kMain, R::kLoader, R::kLoader,
                                        R::kOther, R::kOther});
}

TEST_CASE("children of multiprocessing are workers of a busy parent, and ranks of an idle one") {
  const char* const spawned = "python -c from multiprocessing.spawn import spawn_main";
  CHECK(roles_of({process(1, 0, "python", "python train.py", 8), process(2, 1, "python", spawned, 9),
                  process(3, 1, "python", "python train.py", 9)}) == std::vector<R>{R::kMain, R::kLoader, R::kLoader});
  CHECK(roles_of({process(1, 0, "python", "python train.py", 0.1), process(2, 1, "python", spawned, 9),
                  process(3, 1, "python", spawned, 9), process(4, 2, "pt_data_worker", spawned, 9)}) ==
        std::vector<R>{R::kOther, R::kMain, R::kMain, R::kLoader});
  // A busy one, on a machine whose cores other programs use.
  ProcessUse delayed = process(1, 0, "python", "python train.py", 0.4);
  delayed.run_delay_s = 5;
  CHECK(roles_of({delayed, process(2, 1, "python", "python train.py", 0.7)}) == std::vector<R>{R::kMain, R::kLoader});
}

TEST_CASE("a rank that waits for the others has the role main, though it uses little CPU time") {
  std::vector<ProcessUse> all{
      process(1, 0, "mpirun", "mpirun -n 3 ./train --seed 1", 0.1), process(2, 1, "train", "./train --rank 0", 9),
      process(3, 1, "train", "./train --rank 1", 0.5), process(4, 1, "train", "./train --rank 2", 0.5),
      process(5, 1, "tensorboard", "tensorboard --logdir x", 0.5)};
  all[3].begin_s = 9;  // an earlier or later run
  CHECK(roles_of(all) == std::vector<R>{R::kOther, R::kMain, R::kMain, R::kOther, R::kOther});
  // Started by torch.multiprocessing.spawn, whose parent has imported torch.
  const char* const spawned = "python -c from multiprocessing.spawn import spawn_main";
  all = {process(1, 0, "python", "python train.py", 8), process(2, 1, "python", spawned, 9),
         process(3, 1, "python", spawned, 2)};
  for (ProcessUse& rank : all) rank.threads = {{"pt_gloo_runloop", 1, 0, 0, {}}};
  all[0].threads.clear();
  CHECK(roles_of(all) == std::vector<R>{R::kOther, R::kMain, R::kMain});
}

TEST_CASE("the server of multiprocessing has no role; its children work for its parent") {
  const char* const server = "python -c from multiprocessing.forkserver import main; main(...)";
  CHECK(roles_of({process(1, 0, "python", "python train.py", 8), process(2, 1, "python", server, 0.1),
                  process(3, 2, "python", server, 9), process(4, 2, "pt_data_worker", server, 9)}) ==
        std::vector<R>{R::kMain, R::kOther, R::kLoader, R::kLoader});
}

TEST_CASE("the profile of a trace has no figures of watching") {
  RunProfile profile;
  profile.trace.emplace().format = "Kineto";
  const std::string text = to_json(profile);
  for (const char* const key : {"command", "exit_code", "watching", "machine", "timeline", "stacks", "steps"})
    CHECK_THAT(text, Contains("\n \"" + std::string(key) + "\": null"));
  const RunProfile read = run_profile_from_json(text, "x.json");
  CHECK(to_json(read) == text);
  CHECK(read.machine.affinity_cores == 1);
  profile.watching.seconds = 1;  // kernels that were recorded while watching
  CHECK_THAT(to_json(profile), Contains("affinity_cores"));
}

}  // namespace
}  // namespace unstarve
