#include <algorithm>
#include <catch2/catch.hpp>

#include "unstarve/diagnose/rules/testing/run_profiles.h"

namespace unstarve {
namespace {

using namespace testing;

TEST_CASE("few workers") {
  RunProfile profile = run(4, {9.7, 9.8});
  CHECK(found(profile) == Names{"few-workers"});
  RunFinding finding = findings_of(profile)[0];
  CHECK(finding.gain.gain == Approx(1 / 0.4));  // until the main process works all the time; the cores permit 3.4
  CHECK(finding.lost == Approx(0.6));
  CHECK(finding.change.find("use 5 workers") != std::string::npos);
  profile.machine.affinity_cores = 3;  // 0.65 of them are free
  CHECK(findings_of(profile)[0].gain.gain == Approx(1 + 0.85 * 0.65 / 2.35));
  CHECK(findings_of(profile)[0].change.find("use 3 workers") != std::string::npos);
  CHECK(found(run(4, {5, 5})) == Names{});        // they wait, too
  CHECK(found(run(9.5, {9.7, 9.8})) == Names{});  // the main process is the limit
  profile.machine.affinity_cores = 2;
  CHECK(found(profile) == Names{});  // no core is free
  // Two ranks, each with a worker.
  profile = run(2, {9.8, 9.8});
  profile.processes.push_back(process(ProcessRole::kMain, 2));
  profile.machine.busy_cores += 0.2;
  finding = findings_of(profile)[0];
  CHECK(finding.gain.gain == Approx(1 + 0.85 * 5.64 / 2.36));
  CHECK(finding.change.find("use 4 workers") != std::string::npos);
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
  // Decoding takes 1 / 6.77 of its CPU time, the main process as much as before.
  CHECK(finding.gain.gain == Approx(20 / (4 + (1 - 0.75 * (1 - 1 / 6.77)) * 15.7)));
  CHECK(finding.gain.low < finding.gain.gain);
  CHECK(finding.evidence.find("uses 1.6 of 2.0 cores, decodes for 75 %") != std::string::npos);
  profile.stacks.stacks[1].seconds = 0.1;  // what the workers do is unknown: a bound
  CHECK(findings_of(profile)[0].gain.gain == Approx(2.5));
  CHECK_FALSE(findings_of(profile)[0].gain.known());
  CHECK(findings_of(profile)[0].evidence.ends_with("uses 1.6 of 2.0 cores, decodes for 1 % of its time"));
  profile.stacks.stacks[1].seconds = 0;
  CHECK(findings_of(profile)[0].evidence.ends_with("uses 1.6 of 2.0 cores"));
  profile.stacks.stacks[1].seconds = 6;
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
  CHECK(findings_of(profile)[0].change.find("use 5 workers") != std::string::npos);
}

TEST_CASE("many workers") {
  RunProfile profile = run(5, std::vector<double>(12, 6));
  profile.machine.busy_cores = 7.7;
  delay_all(profile, 3);
  CHECK(found(profile) == Names{"many-workers"});
  CHECK(findings_of(profile)[0].lost == Approx(0.5));  // the main process does not run, and its workers limit it
  CHECK(findings_of(profile)[0].gain.gain == 0);       // they need the same CPU time if they are fewer
  record(profile, {{kMainThread, "__next__", kLoaderFile, 0.5, 0}, {kMainThread, "f", "torch/nn.py", 9, 0}}, 12);
  CHECK(findings_of(profile)[0].lost == Approx(0.3));  // they do not: it waits for a core
  CHECK(findings_of(profile)[0].gain.gain == Approx(1 / 0.7));
  profile.stacks = {};
  delay_all(profile, 0.1);
  CHECK(found(profile) == Names{});
  delay_all(profile, 3);
  profile.machine.affinity_cores = 16;
  profile.machine.busy_cores = 15.8;
  CHECK(found(profile) == Names{"other-programs"});
  profile.machine.busy_cores = 7.7;
  profile.machine.quota_cores = 2.5;
  CHECK(found(profile) == Names{"many-workers"});
  CHECK(findings_of(profile)[0].change.find("use 2 workers") != std::string::npos);
  profile.machine.quota_cores = 1;
  CHECK(findings_of(profile)[0].change.find("use 1 worker for each") != std::string::npos);
}

TEST_CASE("workers that use no CPU do not delay the main process") {
  RunProfile profile = run(5, std::vector<double>(12, 0.01));
  profile.processes[0].run_delay_s = 4;
  profile.machine.busy_cores = 7.9;  // other programs
  CHECK(found(profile) == Names{"other-programs"});
  for (ProcessUse& use : profile.processes)
    if (use.role == ProcessRole::kLoader) use.cpu_s = 0.1;  // 1.2 s on a core
  const std::vector<RunFinding> findings = findings_of(profile);
  const auto workers = std::ranges::find(findings, "many-workers", &RunFinding::rule);
  REQUIRE(workers != findings.end());
  CHECK(workers->lost == Approx(0.12));
}

TEST_CASE("many workers that limit the main process are the cause, not expensive samples") {
  RunProfile profile = run(1.5, std::vector<double>(16, 1.1));
  profile.machine.affinity_cores = 2;
  for (ProcessUse& use : profile.processes)
    if (use.role == ProcessRole::kLoader) use.run_delay_s = 8.7;
  record(profile, {{kMainThread, "__next__", kLoaderFile, 8, 0}, {kMainThread, "forward", "torch/nn.py", 2, 0}}, 16);
  REQUIRE(found(profile) == Names{"many-workers"});
  CHECK(findings_of(profile)[0].lost == Approx(0.8));
  CHECK(findings_of(profile)[0].gain.gain == 0);
  CHECK(findings_of(profile)[0].change.find("num_workers=2") != std::string::npos);
  // As many as cores: their samples are expensive.
  profile.processes.resize(3);
  for (ProcessUse& use : profile.processes)
    if (use.role == ProcessRole::kLoader) use.cpu_s = use.busiest_thread_s = 8.8;
  for (ProcessUse& use : profile.processes) use.run_delay_s = 1.1;
  CHECK(found(profile) == Names{"expensive-samples"});
}

TEST_CASE("uneven workers") {
  CHECK(found(run(4, {9.5, 2, 3, 2})) == Names{"uneven-workers"});
  CHECK(findings_of(run(4, {9.5, 2, 3, 2}))[0].gain.gain == Approx(1 + 0.85 * (9.5 * 4 / 16.5 - 1)));
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

TEST_CASE("the evidence names what workers do most: not only decoding") {
  RunProfile profile = run(4, {9.7, 9.8});
  record(profile,
         {{kMainThread, "__next__", kLoaderFile, 5, 0},
          {kLoaderThread, "default_collate", "torch/utils/data/_utils/collate.py", 12, 0},
          {kLoaderThread, "reduce_storage", "torch/multiprocessing/reductions.py", 5, 0},
          {kLoaderThread, "load", "PIL/ImageFile.py", 2, 0}},
         2);
  // The thread that sends batches, which waits most of the time.
  profile.stacks.lines.push_back({"_feed", "/usr/lib/python3.11/multiprocessing/queues.py", 5});
  profile.stacks.lines.push_back({"wait", "/usr/lib/python3.11/threading.py", 5});
  profile.stacks.stacks.push_back({kLoaderThread, {5, 6}, 15, 0, 9});
  profile.stacks.stacks.push_back({kLoaderThread, {5}, 1, 0, 9});
  REQUIRE(found(profile) == Names{"few-workers"});
  CHECK_THAT(findings_of(profile)[0].evidence,
             Catch::EndsWith("; a worker collates for 60 %, sends batches for 30 % and decodes for 10 % of its time"));
  profile.machine.affinity_cores = 2;
  delay_all(profile, 0.5);
  REQUIRE(found(profile) == Names{"expensive-samples"});
  CHECK_THAT(findings_of(profile)[0].evidence, Catch::Contains("cores, collates for 60 %"));
  record(profile, {{kMainThread, "__next__", kLoaderFile, 5, 0}, {kLoaderThread, "f", kOwnFile, 20, 0}}, 2);
  CHECK_THAT(findings_of(profile)[0].evidence, Catch::EndsWith("2.0 cores"));
}

TEST_CASE("stacks show whether the main process waits for its workers") {
  RunProfile profile = run(4, {9.7, 9.8});
  record(profile, {{kMainThread, "__next__", kLoaderFile, 0.3, 0}}, 2);
  CHECK(found(profile) == Names{});
  record(profile, {{kMainThread, "__next__", kLoaderFile, 5, 0}}, 2);
  CHECK(found(profile) == Names{"few-workers"});
  CHECK(findings_of(profile)[0].gain.gain == Approx(2));
}

}  // namespace
}  // namespace unstarve
