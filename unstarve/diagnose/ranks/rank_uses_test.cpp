#include "unstarve/diagnose/ranks/rank_uses.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

ProcessUse process(int pid, int parent, ProcessRole role, double cpu_s) {
  ProcessUse use;
  use.pid = pid;
  use.parent = parent;
  use.role = role;
  use.begin_s = 10;
  use.end_s = 20;
  use.cpu_s = cpu_s;
  return use;
}

TEST_CASE("the ranks of a profile") {
  RunProfile profile;
  profile.watching.seconds = 20;
  profile.watching.cpu_s = 2;
  profile.machine.affinity_cores = 8;
  profile.machine.busy_cores = 3.1;
  profile.processes = {process(30, 1, ProcessRole::kMain, 15), process(20, 1, ProcessRole::kMain, 5),
                       process(21, 20, ProcessRole::kLoader, 10), process(31, 30, ProcessRole::kOther, 10),
                       process(40, 1, ProcessRole::kMain, 0)};
  profile.processes[0].main_thread = {"python", 1, 5, 2.5, {}};
  profile.processes[0].main_thread.waits.lock_s = 4;
  profile.processes[0].main_thread.waits.file_s = 1;
  profile.processes[0].main_thread.waits.flush_s = 0.5;
  profile.processes[1].storage_bytes = 1000;
  profile.processes[2].storage_bytes = 5000;
  profile.processes[4].end_s = 10.5;  // ended at once
  std::map<int, RankFacts> facts;
  facts[30].numbers = {0, 0};
  facts[20].numbers = {7, 1};
  facts[20].steps = {2, 4, {100, 100.25}};
  facts[21].numbers = {9, 9};
  PythonStacks& stacks = facts[30].stacks;
  stacks.seconds = 4;
  stacks.lines = {{"train", "/x/train.py", 10},
                  {"all_reduce", "torch/distributed/distributed_c10d.py", 2810},
                  {"__next__", "torch/utils/data/dataloader.py", 700}};
  stacks.stacks = {{StackThread::kMain, {0, 1}, 1, 0, 0},
                   {StackThread::kMain, {0, 2}, 0.5, 0, 0},
                   {StackThread::kMain, {0}, 2, 0, 0},
                   {StackThread::kHelper, {0, 1}, 4, 0, 0}};

  const std::vector<RankUse> ranks = rank_uses(profile, "node7", 1e9, facts);
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0].pid == 30);
  CHECK(name_of(ranks[0]) == "rank 0 on node7");
  CHECK(ranks[0].begin_unix_s == 1e9);
  CHECK(ranks[0].seconds == 10);
  CHECK(ranks[0].main_cores == 0.5);
  CHECK(ranks[0].other_cores == 1);
  CHECK(ranks[0].run_delay == 0.25);
  CHECK(ranks[0].lock_wait == 0.4);
  CHECK(ranks[0].file_wait == Approx(0.15));
  CHECK(ranks[0].host.usable_cores == 8);
  CHECK(ranks[0].host.foreign_cores == Approx(1));
  CHECK(ranks[0].stacks.exchange == 0.25);
  CHECK(ranks[0].stacks.input == 0.125);
  CHECK(ranks[0].stacks.hottest == "train.py:10 (train)");
  CHECK(ranks[0].stacks.hottest_share == 0.5);
  CHECK(ranks[1].numbers == RankNumbers{7, 1});
  CHECK(ranks[1].loaders == 1);
  CHECK(ranks[1].storage_bytes_per_s == 600);
  CHECK(ranks[1].steps.ends_s.size() == 2);
  CHECK(ranks[1].stacks.seconds == 0);
  CHECK(rank_uses(RunProfile{}, "x", 0, facts).empty());
}

}  // namespace
}  // namespace unstarve
