#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <functional>
#include <set>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

ProcessUse process(ProcessRole role, double cpu_s) {
  static int number = 100;
  ProcessUse use;
  use.pid = ++number;
  use.parent = 1;
  use.role = role;
  use.end_s = 10;
  use.cpu_s = use.busiest_thread_s = cpu_s;
  return use;
}

// A program that ran for 10 s on 8 cores; `main_s` and `loader_s`: CPU time of its processes.
RunProfile run(double main_s, const std::vector<double>& loader_s) {
  RunProfile profile;
  profile.watching.seconds = 10;
  profile.machine.affinity_cores = 8;
  profile.processes.push_back(process(ProcessRole::kMain, main_s));
  for (const double cpu_s : loader_s) profile.processes.push_back(process(ProcessRole::kLoader, cpu_s));
  for (const ProcessUse& use : profile.processes) profile.machine.busy_cores += use.cpu_s / 10;
  return profile;
}

void delay_all(RunProfile& profile, double run_delay_s) {
  for (ProcessUse& use : profile.processes) use.run_delay_s = run_delay_s;
}

std::set<std::string> found(const RunProfile& profile) {
  std::set<std::string> names;
  double lost = 1;
  for (const RunFinding& finding : findings_of(profile)) {
    CHECK_FALSE(finding.title.empty());
    CHECK_FALSE(finding.evidence.empty());
    CHECK_FALSE(finding.change.empty());
    CHECK(finding.lost >= 0);
    CHECK(finding.lost <= lost);  // most lost time first
    CHECK((finding.gain.gain == 0 || finding.gain.gain >= 1));
    CHECK((!finding.gain.known() || (finding.gain.low <= finding.gain.gain && finding.gain.gain <= finding.gain.high)));
    lost = finding.lost;
    names.insert(finding.rule);
  }
  return names;
}

using Names = std::set<std::string>;

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

TEST_CASE("few workers") {
  RunProfile profile = run(4, {9.7, 9.8});
  CHECK(found(profile) == Names{"few-workers"});
  RunFinding finding = findings_of(profile)[0];
  CHECK(finding.gain.gain == Approx(1 / 0.4));  // until the main process works all the time; the cores permit 3.4
  CHECK(finding.lost == Approx(0.6));
  CHECK(finding.change.find("num_workers=5") != std::string::npos);
  profile.machine.affinity_cores = 3;  // 0.65 of them are free
  CHECK(findings_of(profile)[0].gain.gain == Approx(1 + 0.65 / 2.35));
  CHECK(findings_of(profile)[0].change.find("num_workers=3") != std::string::npos);
  CHECK(found(run(4, {5, 5})) == Names{});        // they wait, too
  CHECK(found(run(9.5, {9.7, 9.8})) == Names{});  // the main process is the limit
  profile.machine.affinity_cores = 2;
  CHECK(found(profile) == Names{});  // no core is free
  // Two ranks, each with a worker.
  profile = run(2, {9.8, 9.8});
  profile.processes.push_back(process(ProcessRole::kMain, 2));
  profile.machine.busy_cores += 0.2;
  finding = findings_of(profile)[0];
  CHECK(finding.gain.gain == Approx(1 + 5.64 / 2.36));
  CHECK(finding.change.find("num_workers=4") != std::string::npos);
  // Operators of the main process run on several cores while it works.
  profile = run(30, {9.8});
  profile.processes[0].busiest_thread_s = 6;
  CHECK(found(profile) == Names{"few-workers"});
}

TEST_CASE("workers that need all cores") {
  RunProfile profile = run(4, {7.8, 7.9});
  profile.machine.affinity_cores = 2;
  delay_all(profile, 1.9);
  profile.stacks.seconds = 4;
  profile.stacks.processes = 2;
  profile.stacks.lines = {{"__next__", "torch/utils/data/dataloader.py", 1}, {"load", "PIL/ImageFile.py", 1}};
  profile.stacks.stacks = {{StackThread::kMain, {0}, 2.4, 0, 0}, {StackThread::kLoader, {1}, 6, 0, 0}};
  REQUIRE(found(profile) == Names{"expensive-samples"});
  const RunFinding finding = findings_of(profile)[0];
  CHECK(finding.lost == Approx(0.6));
  CHECK(finding.gain.gain == 0);
  CHECK(finding.evidence.find("uses 1.6 of 2.0 cores, decodes for 75 %") != std::string::npos);
  profile.machine.affinity_cores = 4;  // cores are free
  CHECK(found(profile) == Names{"few-workers"});
  profile.machine.affinity_cores = 2;
  profile.machine.busy_cores += 0.5;  // of other programs
  CHECK(found(profile) == Names{"other-programs"});
  profile.machine.busy_cores -= 0.5;
  profile.stacks.stacks[0].seconds = 0.2;
  CHECK(found(profile) == Names{});  // the main process does not wait
}

TEST_CASE("workers that are started in every epoch count once") {
  RunProfile profile = run(4, {});
  for (int epoch = 0; epoch < 20; ++epoch) {
    for (int worker = 0; worker < 2; ++worker) {
      profile.processes.push_back(process(ProcessRole::kLoader, 0.49));
      profile.processes.back().begin_s = 0.5 * epoch;
      profile.processes.back().end_s = 0.5 * epoch + 0.5;
    }
  }
  profile.machine.busy_cores = 2.36;
  CHECK(sum_of(profile, ProcessRole::kLoader).processes == 2);
  CHECK(found(profile) == Names{"few-workers"});
  CHECK(findings_of(profile)[0].change.find("num_workers=5") != std::string::npos);
}

TEST_CASE("many workers") {
  RunProfile profile = run(5, std::vector<double>(12, 6));
  profile.machine.busy_cores = 7.7;
  delay_all(profile, 3);
  CHECK(found(profile) == Names{"many-workers"});
  CHECK(findings_of(profile)[0].lost == Approx(0.3));
  delay_all(profile, 0.1);
  CHECK(found(profile) == Names{});
  delay_all(profile, 3);
  profile.machine.affinity_cores = 16;
  profile.machine.busy_cores = 15.8;
  CHECK(found(profile) == Names{"other-programs"});
  profile.machine.busy_cores = 7.7;
  profile.machine.quota_cores = 2.5;
  CHECK(found(profile) == Names{"many-workers"});
  CHECK(findings_of(profile)[0].change.find("num_workers=2") != std::string::npos);
}

TEST_CASE("uneven workers") {
  CHECK(found(run(4, {9.5, 2, 3, 2})) == Names{"uneven-workers"});
  CHECK(findings_of(run(4, {9.5, 2, 3, 2}))[0].gain.gain == Approx(9.5 * 4 / 16.5));
  CHECK(found(run(4, {9.5, 9, 9, 9.5})) == Names{"few-workers"});
  CHECK(found(run(9.5, {9.5, 2, 3, 2})) == Names{});
  // The workers of another loader, for validation.
  RunProfile profile = run(9, {9.5, 9.4, 0.3, 0.3});
  CHECK(found(profile) == Names{});
  profile = run(4, {9.5, 9.4, 0.01, 0.01, 0.01});
  CHECK(found(profile) == Names{});
  profile = run(4, {9.5, 0.5});
  profile.processes[2].begin_s = 3;
  CHECK(found(profile) == Names{});
}

TEST_CASE("a quota that stops the program") {
  RunProfile profile = run(9, {});
  profile.machine.throttled_share = 0.3;
  CHECK(found(profile) == Names{"cpu-quota"});
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
  // Processes that were too short to be seen are its own.
  profile.machine.busy_cores = 7.9;
  profile.processes[0].ended_children_s = 70;
  CHECK(found(profile) == Names{});
  profile.machine.stolen_share = 0.2;
  CHECK(found(profile) == Names{"other-programs"});
}

TEST_CASE("storage") {
  RunProfile profile = run(2, {1, 1});
  profile.machine.io_pressure = 0.6;
  CHECK(found(profile) == Names{});  // the data came from memory
  profile.processes[1].storage_bytes = 1'000'000'000;
  profile.processes[1].read_bytes = 2'000'000'000;
  profile.processes[1].read_calls = 20'000;
  CHECK(found(profile) == Names{"storage-wait"});
  CHECK(findings_of(profile)[0].lost == Approx(0.6));
  profile.processes[1].read_bytes = 20'000'000'000;
  CHECK(found(profile) == Names{});
}

// Stacks of 10 s: {thread, function, file, seconds, seconds with the interpreter's lock}
struct Code {
  StackThread thread;
  const char* function;
  const char* file;
  double seconds, interpreter_s;
};
void record(RunProfile& profile, const std::vector<Code>& codes, int loaders = 0) {
  PythonStacks& stacks = profile.stacks;
  stacks = {};
  stacks.seconds = stacks.interpreter_s = 10;
  stacks.processes = loaders;
  stacks.lines.push_back({"<module>", "/home/me/train.py", 30});
  for (const Code& code : codes) {
    stacks.lines.push_back({code.function, code.file, 5});
    stacks.stacks.push_back(
        {code.thread, {0, static_cast<int>(stacks.lines.size()) - 1}, code.seconds, code.interpreter_s, 9});
  }
}
constexpr const char *kLoaderFile = "torch/utils/data/dataloader.py", *kOwnFile = "/home/me/train.py";
constexpr StackThread kMainThread = StackThread::kMain, kHelperThread = StackThread::kHelper,
                      kLoaderThread = StackThread::kLoader;

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

TEST_CASE("stacks show whether the main process waits for its workers") {
  RunProfile profile = run(4, {9.7, 9.8});
  record(profile, {{kMainThread, "__next__", kLoaderFile, 0.3, 0}}, 2);
  CHECK(found(profile) == Names{});
  record(profile, {{kMainThread, "__next__", kLoaderFile, 5, 0}}, 2);
  CHECK(found(profile) == Names{"few-workers"});
  CHECK(findings_of(profile)[0].gain.gain == Approx(2));
}

TEST_CASE("slow reads of workers") {
  RunProfile profile = run(3, {1, 1});
  for (ProcessUse& use : profile.processes)
    if (use.role == ProcessRole::kLoader) use.main_thread.waits.network_s = 8;
  CHECK(found(profile) == Names{"slow-reads"});
  record(profile, {{kMainThread, "__next__", kLoaderFile, 0.3, 0}}, 2);  // they read ahead
  CHECK(found(profile) == Names{});
  record(profile, {{kMainThread, "__next__", kLoaderFile, 5, 0}}, 2);
  CHECK(findings_of(profile)[0].gain.gain == Approx(2));
}

TEST_CASE("large images") {
  RunProfile profile = run(2, {9.8, 9.8});
  profile.machine.affinity_cores = 2;  // no core is free
  record(profile, {{kMainThread, "__next__", kLoaderFile, 8, 0}, {kLoaderThread, "load", "PIL/ImageFile.py", 15, 0}},
         2);
  CHECK(found(profile) == Names{"expensive-samples"});  // small images
  for (ProcessUse& use : profile.processes) use.minor_faults = 600'000;
  CHECK(found(profile) == Names{"large-images"});
  record(profile, {{kMainThread, "__next__", kLoaderFile, 8, 0}, {kLoaderThread, "load", "PIL/ImageFile.py", 5, 0}}, 2);
  CHECK(found(profile) == Names{"expensive-samples"});
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

TEST_CASE("threads of a program without Python that wait for a lock") {
  RunProfile profile = run(10, {});
  ProcessUse& process = profile.processes[0];
  process.busiest_thread_s = 3;
  process.main_thread.cpu_s = 1;
  process.main_thread.waits.lock_s = 8;
  process.threads = {{"train", 5, 10, 0, {}}};
  process.threads[0].waits.lock_s = 8 + 28;
  CHECK(found(profile) == Names{"lock"});
  process.cpu_s = 30;  // several run at the same time
  CHECK(found(profile) == Names{});
  process.cpu_s = 10;
  process.main_thread.waits.lock_s = 0.5;  // an idle pool: the main thread does not wait
  CHECK(found(profile) == Names{});
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
  profile.processes[0].main_thread.waits.flush_s = 0.2;
  record(profile, {{kMainThread, "backend_compile", "jax/_src/compiler.py", 3, 0}});
  CHECK(found(profile) == Names{"recompilation"});
  profile.stacks.stacks[0].last_s = 4;  // at the beginning
  CHECK(found(profile) == Names{});
}

TEST_CASE("memory that grows") {
  RunProfile profile = run(9.9, {});
  for (int i = 0; i < 20; ++i) profile.timeline.resident_bytes.push_back(3e8 + 2e7 * i);
  CHECK(found(profile) == Names{"growing-memory"});
  for (double& bytes : profile.timeline.resident_bytes) bytes = std::min(bytes, 5e8);  // a cache that is full
  CHECK(found(profile) == Names{});
  for (double& bytes : profile.timeline.resident_bytes) bytes = 5e8;
  CHECK(found(profile) == Names{});
}

TEST_CASE("threads of operators") {
  RunProfile profile = run(19, {});
  profile.machine.affinity_cores = 2;
  profile.processes[0].run_delay_s = 60;
  profile.processes[0].busiest_thread_s = 4;
  profile.processes[0].threads = {{"python", 16, 18.5, 58, {}}};
  CHECK(found(profile) == Names{"operator-threads"});
  CHECK(findings_of(profile)[0].change.find("OMP_NUM_THREADS=2") != std::string::npos);
  profile.processes[0].threads[0].threads = 2;
  CHECK(found(profile) == Names{});
}

TEST_CASE("Python code in the main thread") {
  RunProfile profile = run(9.5, {});
  record(profile, {{kMainThread, "augment", kOwnFile, 6, 5}, {kMainThread, "forward", "torch/nn.py", 4, 0.5}});
  CHECK(found(profile) == Names{"python-bound"});
  // One line takes its time: a call that can be removed.
  RunFinding finding = findings_of(profile)[0];
  CHECK(finding.gain.gain == Approx(2.5));
  CHECK(finding.gain.low < 2.2);
  CHECK(finding.gain.high > 2.5);
  CHECK(gain_without(0.6, 10'000).high == Approx(2.5).epsilon(0.02));  // after many samples
  record(profile, {{kMainThread, "augment", kOwnFile, 3, 2.5}, {kMainThread, "augment", kOwnFile, 3, 2.5}});
  profile.stacks.lines.back().line = 99;  // a loop of two lines: operations on whole arrays remain
  CHECK(findings_of(profile)[0].gain.gain == Approx(1 / (1 - 0.6 * 0.85)));
  record(profile, {{kMainThread, "forward", "torch/nn.py", 9, 5}, {kMainThread, "main", kOwnFile, 1, 0.5}});
  CHECK(found(profile) == Names{"small-steps"});
  record(profile, {{kMainThread, "forward", "torch/nn.py", 9, 0.4}, {kMainThread, "main", kOwnFile, 1, 0.4}});
  CHECK(found(profile) == Names{});
  // Its operators use several cores.
  profile = run(30, {});
  profile.processes[0].busiest_thread_s = 9.5;
  record(profile, {{kMainThread, "forward", "torch/nn.py", 9, 5}});
  CHECK(found(profile) == Names{});
}

// Two ranks in an exchange in every step; the second one is in it for less time.
RunProfile two_ranks(double first_exchange, double second_exchange) {
  RunProfile profile;
  profile.watching.seconds = 10;
  for (const double exchange : {first_exchange, second_exchange}) {
    RankUse rank;
    rank.numbers.global = static_cast<int>(profile.ranks.size());
    rank.pid = 10 + rank.numbers.global;
    rank.seconds = 10;
    rank.host.name = fmt::format("node{}", rank.numbers.global);
    rank.host.usable_cores = 8;
    rank.main_cores = 0.3;
    rank.stacks.seconds = 4;
    rank.stacks.exchange = exchange;
    rank.lock_wait = exchange;
    for (int i = 0; i < 50; ++i) rank.steps.ends_s.push_back(1e9 + 0.1 * i + 0.01 * ((i * i) % 7));
    rank.steps.count = 50;
    rank.steps.rate = 10;
    profile.ranks.push_back(rank);
  }
  return profile;
}

TEST_CASE("a rank that delays the others") {
  RunProfile profile = two_ranks(0.6, 0.05);
  profile.ranks[1].stacks.input = 0.57;
  profile.ranks[0].stacks.input = 0.02;
  REQUIRE(found(profile) == Names{"straggler-rank"});
  RunFinding finding = findings_of(profile)[0];
  CHECK(finding.title == "rank 1 on node1 delays the other ranks: its main thread waits for its loader");
  CHECK(finding.evidence.find("in the exchange for 5 % of the time, the others for 60 %") != std::string::npos);
  CHECK(finding.evidence.find("is in the loader for 57 % of the time, those of the others for 2 %") !=
        std::string::npos);
  CHECK(finding.lost == Approx(0.55));
  CHECK(finding.gain.gain == Approx(1 / 0.45));
  profile.ranks[1].stacks.exchange = 0.55;
  CHECK(found(profile) == Names{"straggler-rank"});  // loaders differ
  profile.ranks[1].stacks.input = 0.02;
  CHECK(found(profile) == Names{});
  // The straggler among more ranks, by their median.
  profile = two_ranks(0.6, 0.05);
  for (int i = 2; i < 8; ++i) {
    profile.ranks.push_back(profile.ranks[0]);
    profile.ranks.back().numbers.global = i;
  }
  profile.ranks[3].stacks.exchange = 0.3;
  CHECK(findings_of(profile)[0].title == "rank 1 on node1 delays the other ranks: its cause is unknown");
}

TEST_CASE("what delays a rank") {
  const auto title = [](const std::function<void(RankUse&)>& plant) {
    RunProfile profile = two_ranks(0.5, 0.1);
    plant(profile.ranks[1]);
    const std::vector<RunFinding> findings = findings_of(profile);
    REQUIRE(findings.size() == 1);
    return findings[0].title.substr(findings[0].title.find(": ") + 2);
  };
  CHECK(title([](RankUse& r) { r.stacks.checkpoint = 0.4; }) == "it saves checkpoints");
  CHECK(title([](RankUse& r) { r.stacks.logging = 0.4; }) == "it writes logs");
  CHECK(title([](RankUse& r) { r.stacks.compilation = 0.4; }) == "it compiles");
  CHECK(title([](RankUse& r) { r.file_wait = 0.4; }) == "it waits for files");
  CHECK(title([](RankUse& r) { r.network_wait = 0.4; }) == "it waits for the network");
  CHECK(title([](RankUse& r) { r.sleep_wait = 0.4; }) == "its main thread sleeps");
  CHECK(title([](RankUse& r) { r.run_delay = 0.4; }) == "its main thread waits for a core");
  CHECK(title([](RankUse& r) {
          r.run_delay = 0.4;
          r.host.throttled_share = 0.5;
        }) == "the CPU quota of its container stops it");
  CHECK(title([](RankUse& r) {
          r.run_delay = 0.4;
          r.host.foreign_cores = 7;
        }) == "other programs use the cores of its host");
  CHECK(title([](RankUse& r) { r.other_cores = 0.95; }) == "other threads of its process compute");
  CHECK(title([](RankUse& r) {
          r.other_cores = 0.95;
          r.main_cores = 0.8;
        }) == "its main thread computes longer");
  CHECK(title([](RankUse& r) { r.major_faults_per_s = 500; }) == "its memory is read from a device");
}

TEST_CASE("ranks that are alike, apart, or alone have no straggler") {
  CHECK(found(two_ranks(0.3, 0.25)) == Names{});
  CHECK(found(two_ranks(0.02, 0.01)) == Names{});
  CHECK(found(two_ranks(0.9, 0.65)) == Names{});  // nothing delays it
  RunProfile profile = two_ranks(0.9, 0.78);
  profile.ranks[1].run_delay = 0.1;
  CHECK(found(profile) == Names{});
  profile.ranks[1].run_delay = 0.4;
  CHECK(found(profile) == Names{"straggler-rank"});
  profile.ranks[1].stacks.exchange = 0.85;
  CHECK(found(profile) == Names{});
  profile = two_ranks(0.6, 0.05);
  for (std::size_t i = 0; i < 50; ++i) profile.ranks[1].steps.ends_s[i] += 0.03 * static_cast<double>(i);
  CHECK(found(profile) == Names{"straggler-rank"});  // at the same rate
  profile.ranks[1].steps.rate = 7.7;
  CHECK(found(profile) == Names{});  // they do not end their steps together
  profile = two_ranks(0.6, 0.05);
  profile.ranks.pop_back();
  CHECK(found(profile) == Names{});
  // A process without steps is no rank, for example one that evaluates.
  profile = two_ranks(0.6, 0.55);
  profile.ranks.push_back(profile.ranks[0]);
  profile.ranks.back().steps = {};
  profile.ranks.back().stacks.exchange = 0;
  CHECK(found(profile) == Names{});
  // Without stacks: waits for other threads, outside of the loader.
  profile = two_ranks(0.6, 0.05);
  for (RankUse& rank : profile.ranks) rank.stacks = {};
  CHECK(found(profile) == Names{"straggler-rank"});
  profile.ranks[1].lock_wait = 0.5;
  CHECK(found(profile) == Names{});
}

// A program that works from 1 s to 21 s; its first step ends after `first_s`, then `slow_s` are the first steps' times
// before those of 0.1 s.
RunProfile marked(double first_s, const std::vector<double>& slow_s) {
  RunProfile profile = run(9.9, {});
  profile.watching.seconds = 21;
  profile.processes[0].begin_s = 1;
  profile.processes[0].end_s = 21;
  profile.processes[0].cpu_s = profile.processes[0].busiest_thread_s = 19.8;
  RankUse rank;
  rank.pid = profile.processes[0].pid;
  rank.begin_unix_s = 1e9;
  rank.seconds = 20;
  double now = 1e9 + 1 + first_s;
  rank.steps.ends_s.push_back(now);
  for (const double seconds : slow_s) rank.steps.ends_s.push_back(now += seconds);
  while (now + 0.1 <= 1e9 + 21) rank.steps.ends_s.push_back(now += 0.1);
  rank.steps.count = static_cast<std::int64_t>(rank.steps.ends_s.size());
  profile.ranks = {rank};
  return profile;
}

TEST_CASE("a start that is a large part of the run") {
  CHECK(found(marked(3.9, {})) == Names{});
  RunProfile profile = marked(5, {1, 0.6});
  REQUIRE(found(profile) == Names{"slow-start"});
  RunFinding finding = findings_of(profile)[0];
  CHECK(finding.title == "the start takes 32 % of this run: measure without it");
  CHECK(finding.evidence ==
        "the first step ended after 5.0 s; the next 2 took 1.4 s more than the median of 0.100 s each");
  CHECK(finding.change == "leave the first 3 steps out of benchmarks, and run longer");
  CHECK(finding.lost == Approx(6.4 / 20));
  CHECK(finding.gain.gain == 0);
  CHECK(findings_of(marked(6, {}))[0].change == "leave the first step out of benchmarks, and run longer");
  CHECK(found(marked(1, std::vector<double>(20, 0.3))) == Names{"slow-start"});  // caches are filled
  CHECK(found(marked(1, {0.3, 0.1, 4})) == Names{});                             // not at the start
  // Its causes.
  profile.stacks.seconds = 4;
  profile.stacks.lines = {{"compile", "torch/_inductor/graph.py", 1}};
  profile.stacks.stacks = {{StackThread::kMain, {0}, 1, 0, 3}};
  profile.timeline.interval_s = 1;
  for (int i = 0; i < 20; ++i) profile.timeline.storage_bytes_per_s.push_back(i < 7 ? 5e7 : 1e5);
  finding = findings_of(profile)[0];
  CHECK(finding.evidence.find("compiled in 1.0 s of 4.0 s") != std::string::npos);
  CHECK(finding.evidence.find("read from storage") != std::string::npos);
  // The first step is not known.
  profile = marked(5, {1, 0.5});
  profile.ranks[0].steps.count += 1;
  CHECK(found(profile) == Names{});
  profile = marked(15, {});
  profile.ranks[0].steps.ends_s.resize(15);
  profile.ranks[0].steps.count = 15;
  CHECK(found(profile) == Names{});
  // A run that is short, but not slow to start.
  profile = marked(5, {});
  profile.processes[0].pid += 1;
  CHECK(found(profile) == Names{});
}

// A GPU of the program that works all the time, at full speed.
GpuUse busy_gpu() {
  GpuUse gpu;
  gpu.name = "NVIDIA H100";
  gpu.used = true;
  gpu.looks = gpu.busy_looks = 100;
  gpu.utilisation_p10 = gpu.utilisation_p50 = gpu.utilisation_p90 = gpu.utilisation_mean = 0.95;
  gpu.power_limit_w = gpu.power_limit_default_w = 700;
  gpu.clock_mhz = gpu.clock_most_mhz = 1980;
  gpu.link_generation = gpu.link_generation_most = 5;
  gpu.link_lanes = gpu.link_lanes_most = 16;
  return gpu;
}
GpuUse idle_gpu() {
  GpuUse gpu = busy_gpu();
  gpu.utilisation_p50 = gpu.utilisation_mean = 0.2;
  gpu.utilisation_p10 = 0;
  gpu.idle_share = 0.6;
  return gpu;
}

TEST_CASE("a GPU that is slowed down") {
  RunProfile profile = run(9, {});
  profile.gpus = {busy_gpu()};
  CHECK(found(profile) == Names{});
  GpuUse& gpu = profile.gpus[0];
  gpu.clock_mhz = 1386;  // 70 %
  gpu.slowdowns = {{"too hot", 0.5}};
  CHECK(found(profile) == Names{"gpu-throttled"});
  CHECK(findings_of(profile)[0].lost == Approx(0.95 * 0.3));
  CHECK(findings_of(profile)[0].evidence.find("too hot for 50 %") != std::string::npos);
  gpu.slowdowns[0].share = 0.05;
  gpu.clock_mhz = 1900;
  CHECK(found(profile) == Names{});
  gpu.slowdowns = {{"a clock setting", 1}};  // that hardly matters
  CHECK(found(profile) == Names{});
  gpu.clock_mhz = 1200;
  CHECK(findings_of(profile)[0].change.find("-rgc") != std::string::npos);
  // At the limit of its card it is as fast as it can be.
  gpu.slowdowns = {{"at the power limit", 0.9}};
  CHECK(found(profile) == Names{});
  gpu.power_limit_w = 400;
  CHECK(found(profile) == Names{"gpu-throttled"});
  CHECK(findings_of(profile)[0].change.find("-pl 700") != std::string::npos);
  gpu.slowdowns = {};  // without a reason
  CHECK(found(profile) == Names{"gpu-throttled"});
  gpu.busy_looks = 3;  // an idle GPU has a low clock
  CHECK(found(profile) == Names{});
}

TEST_CASE("a slow link to the GPU") {
  RunProfile profile = run(9, {});
  profile.gpus = {busy_gpu()};
  GpuUse& gpu = profile.gpus[0];
  gpu.link_lanes = 8;
  CHECK(found(profile) == Names{"slow-link"});
  CHECK(findings_of(profile)[0].evidence.find("8 of 16 lanes") != std::string::npos);
  gpu.busy_looks = 0;  // an idle link
  CHECK(found(profile) == Names{});
  gpu = busy_gpu();
  gpu.link_generation = 4;
  CHECK(found(profile) == Names{"slow-link"});
  gpu = busy_gpu();
  gpu.numa_node = 1;
  gpu.process_nodes = {0, 1};  // it is not bound
  CHECK(found(profile) == Names{});
  gpu.process_nodes = {0};
  CHECK(found(profile) == Names{"slow-link"});
  CHECK(findings_of(profile)[0].change.find("--cpunodebind=1") != std::string::npos);
  gpu.numa_node = -1;
  CHECK(found(profile) == Names{});
}

TEST_CASE("another program on the GPU") {
  RunProfile profile = run(9, {});
  profile.gpus = {busy_gpu()};
  GpuUse& gpu = profile.gpus[0];
  gpu.others = {{4711, "python", 10'000'000'000, 1, 0.4}};
  CHECK(found(profile) == Names{"gpu-shared"});
  CHECK(findings_of(profile)[0].lost == Approx(0.4));
  CHECK(findings_of(profile)[0].gain.gain == Approx(1 / 0.6));
  gpu.others[0].utilisation = 0;  // it has memory only
  CHECK(found(profile) == Names{});
  gpu.others[0].utilisation = -1;
  CHECK(found(profile) == Names{"gpu-shared"});
  CHECK(findings_of(profile)[0].gain.gain == 0);
  gpu.others[0].present = 0.01;
  CHECK(found(profile) == Names{});
  gpu.others[0] = {4711, "python", 10'000'000'000, 1, 0.4};
  gpu.used = false;  // its own number may be 4711
  CHECK(found(profile) == Names{});
}

TEST_CASE("an idle GPU is a finding if nothing else explains it") {
  RunProfile profile = run(9, {});
  profile.gpus = {idle_gpu()};
  CHECK(found(profile) == Names{"gpu-idle"});
  CHECK(findings_of(profile)[0].lost == Approx(0.8));
  CHECK(findings_of(profile)[0].evidence.find("median utilisation 20 %") != std::string::npos);
  profile.machine.throttled_share = 0.1;  // explains less than half of it
  CHECK(found(profile) == Names{"gpu-idle", "cpu-quota"});
  profile.machine.throttled_share = 0.5;
  CHECK(found(profile) == Names{"cpu-quota"});
  profile.machine.throttled_share = 0;
  profile.gpus.push_back(busy_gpu());  // together the median is 57 %
  CHECK(found(profile) == Names{});
  profile.gpus[1].used = false;  // of another program
  CHECK(found(profile) == Names{"gpu-idle"});
  profile.gpus = {idle_gpu()};
  profile.gpus[0].used = false;  // the driver's numbers are not those of this container
  CHECK(found(profile) == Names{"gpu-idle"});
  profile.gpus[0].looks = 0;
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
