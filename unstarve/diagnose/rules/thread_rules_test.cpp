// Rules about threads of the program: locks, and threads of operators.
#include <catch2/catch.hpp>

#include "unstarve/diagnose/rules/testing/run_profiles.h"

namespace unstarve {
namespace {

using namespace testing;

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
  SECTION("that began after the imports") {
    process.busiest_thread_s = 7.5;
    process.busiest_thread_begin_s = 2;
    process.main_thread.cpu_s = 4;
    CHECK(found(profile) == Names{"single-producer"});
  }
  SECTION("that began late") {
    process.busiest_thread_s = 4;
    process.busiest_thread_begin_s = 6;
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

}  // namespace
}  // namespace unstarve
