#include "unstarve/diagnose/probes/thread_probe.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>

#include "unstarve/core/clock.h"

namespace unstarve {
namespace {

// A process that runs and sleeps for 20 ms in turn.
class Alternating {
 public:
  Alternating() : id_(::fork()) {
    while (id_ == 0) {
      for (const double until = seconds_now() + 0.02; seconds_now() < until;) {
      }
      ::usleep(20'000);
    }
  }
  ~Alternating() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  Alternating(const Alternating&) = delete;
  Alternating& operator=(const Alternating&) = delete;
  [[nodiscard]] int id() const { return id_; }

 private:
  int id_;
};

TEST_CASE("what a process does becomes states of its threads") {
  const Alternating process;
  ProcessUse use;
  use.pid = process.id();
  use.role = ProcessRole::kMain;
  const std::vector<ProcessUse> processes{use};
  int requests = 0;
  const auto marks_of = [&](int id) {
    CHECK(id == process.id());
    ++requests;
    return StepMarks{"marks", {1, 2}};
  };
  ThreadProbe probe;
  probe.look(1, processes, 0.04, marks_of);  // too early
  probe.finish(marks_of);
  CHECK(probe.window().samples.threads.empty());
  CHECK(requests == 0);
  probe.look(10, processes, 0.04, marks_of);
  ::usleep(1'500'000);
  probe.finish(marks_of);
  CHECK(requests == 1);
  CHECK(probe.cpu_s() > 0);
  const ThreadSamples& samples = probe.window().samples;
  CHECK(probe.window().marks.source == "marks");
  CHECK(samples.process == process.id());
  REQUIRE(samples.threads.size() == 1);
  CHECK(samples.threads[0].name.starts_with("main " + std::to_string(process.id())));
  const std::vector<ThreadState>& states = samples.threads[0].states;
  REQUIRE(states.size() + 1 == samples.times.size());
  CHECK(states.size() > 50);
  // How long it waits for a CPU depends on the other programs.
  const auto share = [&](ThreadState state) {
    return static_cast<double>(std::count(states.begin(), states.end(), state)) / static_cast<double>(states.size());
  };
  CHECK(share(ThreadState::kSleep) > 0.1);
  CHECK(share(ThreadState::kRunning) > 0.05);
  CHECK(std::is_sorted(samples.times.begin(), samples.times.end()));
}

TEST_CASE("a process that has ended has no window") {
  ProcessUse use;
  use.pid = 1 << 30;
  use.role = ProcessRole::kMain;
  ThreadProbe probe;
  const auto marks_of = [](int) { return StepMarks{}; };
  probe.look(10, std::vector{use}, 0, marks_of);
  ::usleep(500'000);
  probe.finish(marks_of);
  CHECK(probe.window().samples.threads.empty());
}

}  // namespace
}  // namespace unstarve
