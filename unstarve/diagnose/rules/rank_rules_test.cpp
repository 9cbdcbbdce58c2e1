#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <functional>
#include "unstarve/diagnose/rules/testing/run_profiles.h"

namespace unstarve {
namespace {

using namespace testing;

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
  CHECK(finding.evidence.find("is in the loader for 57 % of the time, the main threads of the others for 2 %") !=
        std::string::npos);
  CHECK(finding.lost == Approx(0.55));
  CHECK(finding.gain.gain == Approx(1 / 0.45));
  CHECK(finding.gain.low < 1 / 0.45);
  CHECK(finding.gain.high > 1 / 0.4);  // without any wait in the exchange
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
        }) == "the CPU quota of its container throttles it");
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
        "the first step ended after 5.0 s; the next 2 steps took 1.4 s more than at the median of 0.100 s");
  CHECK(finding.change == "leave the first 3 steps out of benchmarks, and run longer");
  CHECK(finding.lost == Approx(6.4 / 20));
  CHECK(finding.gain.gain == Approx(20 / 13.6));  // of this run
  CHECK_FALSE(finding.gain.known());
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
  CHECK(finding.changes.tensorflow.find("TF_XLA_FLAGS=") != std::string::npos);
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

}  // namespace
}  // namespace unstarve
