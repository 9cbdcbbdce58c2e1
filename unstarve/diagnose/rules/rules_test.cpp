#include <algorithm>
#include <catch2/catch.hpp>

#include "unstarve/diagnose/rules/testing/run_profiles.h"

namespace unstarve {
namespace {

using namespace testing;

TEST_CASE("a healthy program has no findings") {
  CHECK(found(run(9.8, {4, 4, 4, 4})) == Names{});
  CHECK(found(run(5, {})) == Names{});
  CHECK(found(RunProfile{}) == Names{});
  // It uses all cores, but its main process works.
  RunProfile profile = run(9.8, std::vector<double>(7, 9.9));
  delay_all(profile, 0.2);
  CHECK(found(profile) == Names{});
  profile.machine.io_pressure = 0.9;  // of readers that work ahead
  profile.processes[1].storage_bytes = profile.processes[1].read_bytes = 5'000'000'000;
  CHECK(found(profile) == Names{});
}

TEST_CASE("a quota that stops the program") {
  RunProfile profile = run(9, {});
  profile.machine.throttled_share = 0.3;
  CHECK(found(profile) == Names{"cpu-quota"});
  CHECK(findings_of(profile)[0].lost == Approx(0.3));  // the quota is unknown
  CHECK(findings_of(profile)[0].gain.gain == 0);
  // Four threads could run on a quota of two cores.
  profile = run(19, {});
  profile.processes[0].busiest_thread_s = 9;
  profile.processes[0].run_delay_s = 21;
  profile.machine.throttled_share = 0.9;
  profile.machine.quota_cores = 2;
  const RunFinding finding = findings_of(profile)[0];
  CHECK(finding.rule == "cpu-quota");
  CHECK(finding.gain.gain == Approx(1.85));
  CHECK(finding.gain.high == Approx(2));
  CHECK(finding.lost == Approx(1 - 1 / 1.85));
  CHECK(finding.evidence.find("4.0 threads could run") != std::string::npos);
  profile.machine.busy_cores = 1.9 + 5.5;  // 2.5 cores are not used by other programs
  CHECK(findings_of(profile)[0].gain.high == Approx(1.25));
  // Something was throttled in most periods, but the program needs hardly more than the quota.
  profile.machine.busy_cores = 1.9;
  profile.processes[0].run_delay_s = 1.2;
  CHECK(findings_of(profile)[0].lost < 0.01);
}

TEST_CASE("other programs") {
  RunProfile profile = run(6, {});
  profile.processes[0].run_delay_s = 4;
  CHECK(found(profile) == Names{});  // no other program runs
  profile.machine.busy_cores = 7.9;
  CHECK(foreign_cores(profile) == Approx(7.3));
  CHECK(found(profile) == Names{"other-programs"});
  profile.machine.busy_cores = 2.6;  // they use 2 of 8 cores: most of the delay is its own
  CHECK(findings_of(profile)[0].gain.gain == Approx(8.0 / 6));
  // It sleeps most of the time, as with a GPU: waiting for a core takes a sixth of its time, or hardly any.
  RunProfile sleeps = run(0.1, {});
  sleeps.machine.busy_cores = 7.9;
  sleeps.processes[0].run_delay_s = 1.6;
  CHECK(findings_of(sleeps)[0].gain.gain == Approx(1 / 0.84));
  sleeps.processes[0].run_delay_s = 0.4;
  CHECK(found(sleeps) == Names{});
  // Processes that were too short to be seen are its own.
  profile.machine.busy_cores = 7.9;
  profile.processes[0].ended_children_s = 70;
  CHECK(found(profile) == Names{});
  profile.machine.stolen_share = 0.2;
  CHECK(found(profile) == Names{"other-programs"});
  CHECK(findings_of(profile)[0].lost == Approx(0.6 * 0.2 / (0.2 + 7.9 / 8)));
  RunProfile idle = run(0.01, {});  // it does not need the cores
  idle.machine.stolen_share = 0.2;
  CHECK(found(idle) == Names{});
}

TEST_CASE("other programs outside of a CPU quota take nothing") {
  RunProfile profile = run(0.4, {});
  profile.machine.affinity_cores = 2;
  profile.machine.quota_cores = 0.5;
  profile.machine.busy_cores = 1.5;  // 0.9 cores remain for a quota of 0.5
  profile.processes[0].run_delay_s = 6;
  CHECK(left_cores(profile) == Approx(0.5));
  CHECK(taken_share(profile) == Approx(0).margin(1e-9));
  CHECK(found(profile) == Names{});
  profile.machine.busy_cores = 1.9;
  CHECK(taken_share(profile) > 0.2);
  profile.machine.busy_cores = 2.04 - 0.3;  // 0.3 cores remain
  CHECK(found(profile) == Names{"other-programs"});
  CHECK(findings_of(profile)[0].gain.gain <= 0.5 / 0.3 + 1e-9);
}

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

TEST_CASE("threads that wait for a lock") {
  RunProfile profile = run(6, {});
  ThreadUse threads;
  threads.threads = 4;
  threads.waits.lock_s = 30;
  profile.processes[0].threads = {threads};
  record(profile,
         {{kMainThread, "get", "/usr/lib/python3.11/queue.py", 6, 0}, {kHelperThread, "work", kOwnFile, 28, 1}});
  CHECK(found(profile).contains("lock"));
  CHECK(findings_of(profile)[0].gain.gain == Approx(2.5));
  profile.processes[0].threads[0].waits.lock_s = 1;  // they do not wait, they work there
  CHECK_FALSE(found(profile).contains("lock"));
  // Threads of a pool that wait for work are in files of Python.
  profile.processes[0].threads[0].waits.lock_s = 30;
  record(profile, {{kMainThread, "get", "/usr/lib/python3.11/queue.py", 6, 0},
                   {kHelperThread, "wait", "/usr/lib/python3.11/threading.py", 28, 1}});
  CHECK_FALSE(found(profile).contains("lock"));
}

TEST_CASE("a thread that computes does not wait for a lock, though idle threads next to it do") {
  RunProfile profile = run(10, {});
  ThreadUse threads;
  threads.threads = 3;
  threads.waits.lock_s = 20;  // of an idle pool
  profile.processes[0].threads = {threads};
  record(profile,
         {{kMainThread, "get", "/usr/lib/python3.11/queue.py", 8, 0}, {kHelperThread, "produce", kOwnFile, 9.5, 1}});
  CHECK_FALSE(found(profile).contains("lock"));
  // The same in a worker, whose queues have threads that wait for more to send.
  profile = run(2, {9});
  profile.processes[1].run_delay_s = 1;
  profile.processes[1].threads = {threads};
  record(profile,
         {{kMainThread, "__next__", kLoaderFile, 8, 0},
          {kLoaderThread, "__getitem__", kOwnFile, 9.5, 0},
          {kLoaderThread, "_feed", "/usr/lib/python3.11/threading.py", 10, 0}},
         1);
  CHECK(found(profile) == Names{"few-workers"});
  // Workers that wait for a lock that they share, in their main threads.
  profile = run(2, {5, 5});
  for (std::size_t i : {1U, 2U}) {
    profile.processes[i].threads = {threads};
    profile.processes[i].main_thread.waits.lock_s = 5;
    profile.processes[i].threads[0].waits.lock_s = 25;
  }
  record(profile,
         {{kMainThread, "__next__", kLoaderFile, 8, 0},
          {kLoaderThread, "__getitem__", kOwnFile, 10, 0},
          {kLoaderThread, "load", "PIL/ImageFile.py", 10, 0},
          {kLoaderThread, "_feed", "/usr/lib/python3.11/threading.py", 20, 0}},
         2);
  CHECK(found(profile).contains("lock"));
}

TEST_CASE("threads of a program without Python that wait for a lock") {
  RunProfile profile = run(10, {});
  ProcessUse& process = profile.processes[0];
  process.busiest_thread_s = 3;
  process.main_thread.cpu_s = 1;
  process.main_thread.waits.lock_s = 8;
  process.threads = {{"train", 5, 10, 0, {}}};
  process.threads[0].waits.lock_s = 8 + 28;
  CHECK(found(profile) == Names{});  // for conditions: an idle pool
  process.threads[0].waits.mutex_s = 28;
  CHECK(found(profile) == Names{"lock"});
  process.main_thread.waits.mutex_s = 8;  // operators of OpenMP, computed together with its threads
  process.threads[0].waits.mutex_s = 8 + 28;
  CHECK(found(profile) == Names{});
  process.main_thread.waits.mutex_s = 0;
  process.threads[0].waits.mutex_s = 28;
  process.cpu_s = 30;  // several run at the same time
  CHECK(found(profile) == Names{});
  process.cpu_s = 10;
  process.main_thread.waits.lock_s = 0.5;  // an idle pool: the main thread does not wait
  CHECK(found(profile) == Names{});
}

TEST_CASE("one thread that prepares all data") {
  RunProfile profile = run(12, {});
  ProcessUse& process = profile.processes[0];
  process.busiest_thread_s = 9.5;
  process.main_thread.cpu_s = 2;
  process.main_thread.waits.lock_s = 8;
  process.threads = {{"train", 5, 12, 0, {}}};
  process.threads[0].waits.lock_s = 8 + 30;  // an idle pool
  CHECK(found(profile) == Names{"single-producer"});
  CHECK(findings_of(profile)[0].gain.gain == Approx(5));
  CHECK(findings_of(profile)[0].change == "prepare data in several threads");
  // Without stacks, it may be a thread of PyTorch that computes the network.
  process.threads.push_back({"pt_autograd_", 1, 9.5, 0, {}});
  CHECK(libraries_of(profile).pytorch);
  CHECK(found(profile) == Names{});
  record(profile,
         {{kMainThread, "get", "/usr/lib/python3.11/queue.py", 8, 0}, {kHelperThread, "prepare", kOwnFile, 9.5, 1}});
  CHECK(found(profile) == Names{"single-producer"});
  CHECK(findings_of(profile)[0].change.find("num_workers") != std::string::npos);
  SECTION("that does not always run") {
    process.busiest_thread_s = 8;
    CHECK(found(profile) == Names{});
  }
  SECTION("with others") {
    process.cpu_s = 14;
    CHECK(found(profile) == Names{});
  }
  SECTION("in another process") {
    profile.processes.push_back(testing::process(ProcessRole::kLoader, 5));
    CHECK(found(profile) == Names{});
  }
  SECTION("a main thread that leaves the training to it") {
    record(profile, {{kMainThread, "join", "/usr/lib/python3.11/threading.py", 9.9, 0},
                     {kHelperThread, "train", kOwnFile, 9.5, 1}});
    process.main_thread.cpu_s = 0.2;
    process.cpu_s = 10;
    CHECK(found(profile) == Names{});
  }
  SECTION("without a free core") {
    profile.machine.affinity_cores = 1;
    CHECK(found(profile) == Names{});
  }
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

TEST_CASE("memory that grows") {
  RunProfile profile = run(9.9, {});
  for (int i = 0; i < 20; ++i) profile.timeline.resident_bytes.push_back(3e8 + 2e7 * i);
  CHECK(found(profile) == Names{"growing-memory"});
  // The loss is what is known of it: the time of the kernel for new pages, and steps that become slower.
  CHECK(findings_of(profile)[0].lost == 0);
  CHECK(findings_of(profile)[0].gain.gain == 0);
  profile.processes[0].main_system_s = 3;
  profile.processes[0].minor_faults = 1'000'000;
  CHECK(findings_of(profile)[0].lost == Approx(0.22));
  CHECK_THAT(findings_of(profile)[0].evidence, Catch::Contains("at least 1.28 times"));
  profile.processes[0].main_system_s = 1;
  CHECK(findings_of(profile)[0].lost == Approx(0.1));
  profile.steps = {"un.step()", 29, {}, 250};
  for (int i = 0; i < 250; ++i) profile.steps.seconds.push_back(i < 100 ? 0.01 : 0.02);
  CHECK(findings_of(profile)[0].lost == Approx(1 - 0.01 / 0.0175));
  profile.steps = {};
  CHECK(findings_of(profile)[0].ends_run);  // from 380 to 640 MB
  RunProfile slow_growth = profile;
  for (double& bytes : slow_growth.timeline.resident_bytes) bytes = 5e8 + bytes / 2;
  CHECK_FALSE(findings_of(slow_growth)[0].ends_run);
  for (double& bytes : profile.timeline.resident_bytes) bytes = std::min(bytes, 5e8);  // a cache that is full
  CHECK(found(profile) == Names{});
  for (double& bytes : profile.timeline.resident_bytes) bytes = 5e8;
  CHECK(found(profile) == Names{});
}

TEST_CASE("operator threads") {
  RunProfile profile = run(19, {});
  profile.machine.affinity_cores = 2;
  profile.processes[0].run_delay_s = 60;
  profile.processes[0].busiest_thread_s = 4;
  profile.processes[0].threads = {{"python", 16, 18.5, 58, {}}};
  profile.processes[0].main_thread = {"python", 1, 4, 4, {}};
  CHECK(findings_of(profile).at(0).change == "start 2 threads that compute, as many as there are cores");
  profile.machine.busy_cores = 2;
  profile.processes[0].cpu_s = 9;  // the other core is that of another program
  profile.processes[0].threads[0].cpu_s = 9;
  CHECK(found(profile) == Names{"other-programs"});
  profile.processes[0].has_openmp = true;
  CHECK(found(profile) == Names{"operator-threads", "other-programs"});
  CHECK(findings_of(profile)[0].rule == "other-programs");
  profile.processes[0].cpu_s = 19;
  profile.processes[0].threads[0].cpu_s = 18.5;
  CHECK(found(profile) == Names{"operator-threads"});
  CHECK(findings_of(profile)[0].change.find("use 2 threads for operators: set the variable OMP_NUM_THREADS=2") == 0);
  profile.processes[0].threads[0].threads = 2;
  CHECK(found(profile) == Names{});
  // The threads of a pool, for which the main thread waits.
  profile.processes[0].threads[0].threads = 16;
  profile.processes[0].main_thread = {"python", 1, 1, 1, {}};
  CHECK(found(profile) == Names{});
}

TEST_CASE("operator threads wait in a loop while the main thread prepares batches") {
  RunProfile profile = run(19.5, {});
  profile.machine.affinity_cores = 2;
  profile.processes[0].busiest_thread_s = 9.8;
  profile.processes[0].main_thread = {"python", 1, 9.8, 0, {}};
  profile.processes[0].threads = {{"python", 2, 19.5, 0, {}}};
  const auto prepare = [&](double input_s, const std::vector<Code>& others = {}) {
    std::vector<Code> codes{{kMainThread, "__next__", kLoaderFile, input_s, 1},
                            {kMainThread, "forward", "torch/nn.py", 10 - input_s, 0}};
    codes.insert(codes.end(), others.begin(), others.end());
    record(profile, codes);
  };
  prepare(9);
  CHECK(spinning_cores(profile) == Approx(0.87));  // 0.97 of a core, of which the operators need a tenth at most
  CHECK(found(profile) == Names{"serial-input"});
  const RunFinding finding = findings_of(profile)[0];
  CHECK(finding.change.find("torch.set_num_threads(1)") != std::string::npos);
  CHECK(finding.changes.jax.find("torch") == std::string::npos);
  CHECK(finding.changes.jax.find("NPROC=1") != std::string::npos);
  CHECK(finding.gain.gain == Approx(1 + 0.85 * (0.05 + 0.87) / (1.95 - 0.87)));
  // It computes operators on two cores for half of the time.
  prepare(1);
  CHECK(spinning_cores(profile) == Approx(0.07));
  CHECK(found(profile) == Names{});
  // Another Python thread works, for example one that decodes; one that waits does not count.
  prepare(9, {{kHelperThread, "decode", kOwnFile, 9.5, 0}});
  CHECK(spinning_cores(profile) < 0.05);
  prepare(9, {{kHelperThread, "wait", "/usr/lib/python3.11/threading.py", 10, 0}});
  CHECK(spinning_cores(profile) == Approx(0.87));
  profile.stacks = {};
  CHECK(spinning_cores(profile) == 0);
}

TEST_CASE("operator threads wait for each other, on cores that workers need") {
  RunProfile profile = run(8.5, {5.5, 5.5});
  profile.machine.affinity_cores = 2;
  for (ProcessUse& use : profile.processes) use.run_delay_s = 4.5;
  ProcessUse& main = profile.processes[0];
  main.run_delay_s = 8;
  main.busiest_thread_s = 4.3;
  main.main_thread = {"python", 1, 4.3, 4, {}};
  main.threads = {{"python", 2, 8.5, 8, {}}};
  record(profile, {{kMainThread, "__next__", kLoaderFile, 1, 0}, {kMainThread, "forward", "torch/nn.py", 9, 0}}, 2);
  CHECK(found(profile).contains("spinning-threads"));
  CHECK_FALSE(found(profile).contains("expensive-samples"));  // the loader does not have all cores
  for (CodeLine& line : profile.stacks.lines)                 // no library that computes operators
    if (line.function == "forward") line.file = kOwnFile;
  profile.stacks.lines[1].file = "/home/me/loader.py";
  CHECK_FALSE(found(profile).contains("spinning-threads"));
  main.has_openmp = true;
  CHECK(found(profile).contains("spinning-threads"));
  main.has_openmp = false;
  record(profile, {{kMainThread, "__next__", kLoaderFile, 1, 0}, {kMainThread, "forward", "torch/nn.py", 9, 0}}, 2);
  RunFinding finding;
  for (const RunFinding& each : findings_of(profile))
    if (each.rule == "spinning-threads") finding = each;
  CHECK(finding.gain.gain == Approx(2 / 1.1));
  CHECK_FALSE(finding.gain.known());
  CHECK_THAT(finding.evidence, Catch::StartsWith("0.8 threads that compute operators could run at the same time, and "
                                                 "use 0.4 cores"));
  CHECK(finding.change.find("set_num_threads(1)") != std::string::npos);
  CHECK(finding.changes.tensorflow.find("set_intra_op_parallelism_threads(1)") != std::string::npos);
  CHECK(finding.changes.jax.find("NPROC=1") != std::string::npos);
  CHECK(finding.changes.unstarve.find("--operator-threads 1") != std::string::npos);
  // Threads of the main process prepare the data.
  RunProfile threads = profile;
  threads.processes.erase(threads.processes.begin() + 1, threads.processes.end());
  threads.processes[0].cpu_s = 19.5;
  threads.processes[0].run_delay_s = 17;
  threads.processes[0].threads.push_back({"unstarve-work", 2, 11, 9, {}});
  CHECK(found(threads).contains("spinning-threads"));
  threads.processes[0].threads.pop_back();
  threads.processes[0].cpu_s = 8.5;
  threads.machine.affinity_cores = 1;
  threads.machine.busy_cores = 0.85;
  CHECK_FALSE(found(threads).contains("spinning-threads"));
  // They sleep while they wait.
  main.threads[0].cpu_s = 5.5;
  main.threads[0].run_delay_s = 5.2;
  CHECK_FALSE(found(profile).contains("spinning-threads"));
  // Cores are free.
  main.threads[0].cpu_s = 8.5;
  main.threads[0].run_delay_s = 8;
  profile.machine.affinity_cores = 8;
  CHECK_FALSE(found(profile).contains("spinning-threads"));
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

TEST_CASE("shares are those of the run after its start") {
  RunProfile profile = run(4, {9.7, 9.8});
  profile.steady = profile.processes;
  profile.steady_from_s = 4;
  for (ProcessUse& use : profile.steady) {
    use.begin_s = 4;
    use.cpu_s = use.busiest_thread_s = 0.58 * use.cpu_s;
  }
  CHECK(found(profile) == Names{"few-workers"});
  profile.machine.affinity_cores = 2;
  profile.machine.busy_cores = 2;
  record(profile, {{kMainThread, "__next__", "torch/utils/data/dataloader.py", 6, 0}});
  CHECK(found(profile).contains("expensive-samples"));
  for (ProcessUse& use : profile.steady) use.cpu_s = use.busiest_thread_s = 1;  // it worked only at its start
  CHECK(found(profile) == Names{});
}

TEST_CASE("the machine that is enough") {
  RunProfile profile = run(9.8, {4, 4});
  profile.processes[0].peak_resident_bytes = 3000;
  profile.processes[1].peak_resident_bytes = 500;
  profile.processes[2].peak_resident_bytes = 9000;
  profile.processes[2].ended = true;
  profile.processes[2].end_s = 2;
  CHECK(sufficient_machine(profile).cores == 2);  // 1.78 are busy
  CHECK(sufficient_machine(profile).memory_bytes == 9000);
  profile.processes[2].end_s = 10;
  CHECK(sufficient_machine(profile).memory_bytes == 12500);
  CHECK(sufficient_machine({}).cores == 0);
  profile.watching.seconds = 2;
  CHECK(sufficient_machine(profile).cores == 0);
  profile = run(19.5, {});  // 1.95 are busy, and it had no more than 2
  CHECK(sufficient_machine(profile).cores == 3);
  profile.machine.affinity_cores = 2;
  CHECK(sufficient_machine(profile).cores == 2);
}

TEST_CASE("the confidence is that of the amount of evidence") {
  RunProfile profile = run(9, {});
  profile.machine.throttled_share = 0.3;
  const auto confidence = [&] { return findings_of(profile).at(0).confidence; };
  CHECK(confidence() == Confidence::kMedium);
  profile.watching.seconds = 8;
  CHECK(confidence() == Confidence::kLow);
  profile.watching.seconds = 60;
  profile.processes[0].end_s = 60;
  CHECK(confidence() == Confidence::kHigh);
  profile.machine.busy_cores = 7;  // other programs disturb
  CHECK(confidence() == Confidence::kMedium);
  profile.machine.busy_cores = 0.9;
  profile.machine.throttled_share = 0.1;
  CHECK(confidence() == Confidence::kMedium);
  profile.machine.throttled_share = 0;
  profile.steps = {"un.step()", 29, std::vector<double>(200, 0.01), 200};
  for (std::size_t step = 24; step < 200; step += 25) profile.steps.seconds[step] = 0.61;
  CHECK(confidence() == Confidence::kLow);  // of step-pauses: nothing else explains them
}

TEST_CASE("names of rules differ") {
  Names names;
  for (const Rule& rule : rules()) {
    CHECK(names.insert(rule.name).second);
    CHECK(std::string(rule.threshold).size() > 10);
  }
}

}  // namespace
}  // namespace unstarve
