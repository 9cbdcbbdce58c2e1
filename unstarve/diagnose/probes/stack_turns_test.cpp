#include "unstarve/diagnose/probes/stack_turns.h"

#include <catch2/catch.hpp>
#include <vector>

namespace unstarve {
namespace {

ProcessUse process_of(int pid, ProcessRole role, int parent = 1, double begin_s = 0) {
  ProcessUse process;
  process.pid = pid;
  process.parent = parent;
  process.role = role;
  process.command = "/usr/bin/python3 train.py";
  process.begin_s = begin_s;
  return process;
}

StackTurns turns_of_python() {
  return StackTurns([](int) { return true; });
}

TEST_CASE("the first window waits until a Python program has started") {
  StackTurns turns([](int pid) { return pid == 5; });
  CHECK_FALSE(turns.next(100, {}));
  CHECK_FALSE(turns.next(100, std::vector{process_of(4, ProcessRole::kMain)}));
  CHECK_FALSE(turns.python_seen());
  std::vector processes{process_of(5, ProcessRole::kMain, 1, 10)};
  CHECK_FALSE(turns.next(11.9, processes));
  CHECK(turns.python_seen());
  const auto target = turns.next(12, processes);
  REQUIRE(target);
  CHECK(target->process == 5);
  CHECK(target->kind == RecordingKind::kAll);
  CHECK(target->python == "/usr/bin/python3");
  processes[0].ended = true;
  CHECK_FALSE(turns.next(13, processes));
}

TEST_CASE(
    "all threads, a worker, the interpreter's lock and all threads again follow each other, then workers in turn") {
  StackTurns turns = turns_of_python();
  const std::vector processes{process_of(5, ProcessRole::kMain), process_of(6, ProcessRole::kLoader, 5),
                              process_of(7, ProcessRole::kLoader, 5), process_of(8, ProcessRole::kLoader, 4)};
  std::vector<int> recorded;
  std::vector<bool> immediately;
  for (int i = 0; i < 6; ++i) {
    const auto target = turns.next(10 + i, processes);
    REQUIRE(target);
    CHECK(target->rank == 5);
    CHECK(target->kind == std::vector{RecordingKind::kAll, RecordingKind::kWorker, RecordingKind::kInterpreter}[i % 3]);
    CHECK(target->workers == (i % 3 == 1 ? 2 : 0));  // those of another process do not count
    recorded.push_back(target->process);
    immediately.push_back(turns.recorded(*target, false));
  }
  CHECK(recorded == std::vector{5, 6, 5, 5, 7, 5});
  CHECK(immediately == std::vector{true, true, true, false, false, false});
}

TEST_CASE("without workers, the lock follows all threads, and all threads follow it") {
  StackTurns turns = turns_of_python();
  const std::vector processes{process_of(5, ProcessRole::kMain)};
  CHECK(turns.recorded(*turns.next(10, processes), false));
  const auto target = turns.next(11, processes);
  REQUIRE(target);
  CHECK(target->kind == RecordingKind::kInterpreter);
  CHECK(target->process == 5);
  CHECK(turns.recorded(*target, false));
  const auto again = turns.next(12, processes);
  REQUIRE(again);
  CHECK(again->kind == RecordingKind::kAll);
  CHECK_FALSE(turns.recorded(*again, false));
}

TEST_CASE("ranks take turns") {
  StackTurns turns = turns_of_python();
  const std::vector processes{process_of(5, ProcessRole::kMain), process_of(6, ProcessRole::kMain),
                              process_of(7, ProcessRole::kMain)};
  std::vector<int> ranks;
  for (int i = 0; i < 5; ++i) {
    const auto target = turns.next(10 + i, processes);
    REQUIRE(target);
    ranks.push_back(target->rank);
    CHECK(turns.recorded(*target, false) == (i < 4));
  }
  CHECK(ranks == std::vector{5, 6, 7, 5, 6});
}

TEST_CASE("a window of the start is repeated five times at most") {
  StackTurns turns = turns_of_python();
  const std::vector processes{process_of(5, ProcessRole::kMain)};
  for (int i = 0; i < 6; ++i) {
    const auto target = turns.next(10 + i, processes);
    REQUIRE(target);
    CHECK(target->kind == RecordingKind::kAll);
    CHECK(turns.recorded(*target, true));  // the last one is the first window
  }
  CHECK(turns.next(20, processes)->kind == RecordingKind::kInterpreter);
}

TEST_CASE("failures are repeated until there are four without a recording, those of workers are not") {
  StackTurns turns = turns_of_python();
  const std::vector processes{process_of(5, ProcessRole::kMain), process_of(6, ProcessRole::kLoader, 5)};
  for (int i = 0; i < 3; ++i) CHECK(turns.failed(*turns.next(10, processes)));
  CHECK(turns.recorded(*turns.next(10, processes), false));
  const auto worker = turns.next(11, processes);
  REQUIRE(worker);
  REQUIRE(worker->kind == RecordingKind::kWorker);
  CHECK(turns.failed(*worker));  // the first windows follow each other
  for (int i = 0; i < 4; ++i) {
    const auto target = turns.next(12, processes);
    REQUIRE(target);
    CHECK(target->kind == RecordingKind::kInterpreter);
    turns.failed(*target);
  }
  CHECK_FALSE(turns.next(13, processes));
  StackTurns without = turns_of_python();
  without.give_up();
  CHECK_FALSE(without.next(13, processes));
}

}  // namespace
}  // namespace unstarve
