#include "unstarve/core/background_task.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>

namespace unstarve {
namespace {

TEST_CASE("a background task runs at the lowest priority, and its creator's priority is unchanged") {
  const pid_t maker = ::gettid();
  const int before = ::getpriority(PRIO_PROCESS, 0);
  pid_t thread = 0;
  int nice = 0;
  BackgroundTask task([&] {
    thread = ::gettid();
    nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
  });
  CHECK(task.wait());
  CHECK(thread != maker);
  CHECK(nice == 19);
  CHECK(::getpriority(PRIO_PROCESS, 0) == before);
}

TEST_CASE("a background task runs concurrently with its creator, and its destructor waits") {
  std::latch continued(1);
  std::atomic<bool> ended = false;
  {
    BackgroundTask task([&] {
      continued.wait();
      ended = true;
    });
    CHECK(!ended);
    continued.count_down();
  }
  CHECK(ended);
}

TEST_CASE("a delayed background task starts as soon as wait() is called") {
  std::atomic<bool> ended = false;
  const auto work = [&] { ended = true; };
  {
    BackgroundTask task(work, std::chrono::hours(1));
    CHECK(!ended);
    CHECK(task.wait());
    CHECK(ended);
    CHECK(task.wait());
  }
  ended = false;
  { const BackgroundTask unasked(work, std::chrono::hours(1)); }
  CHECK(ended);
  ended = false;
  const BackgroundTask alone(work, std::chrono::milliseconds(1));
  while (!ended) std::this_thread::yield();
}

TEST_CASE("each wait() rethrows a background task's exception") {
  BackgroundTask task([] { throw std::runtime_error("no room"); });
  CHECK_THROWS_WITH(task.wait(), "no room");
  CHECK_THROWS_WITH(task.wait(), "no room");
  {
    BackgroundTask unasked([] { throw std::runtime_error("no room"); });
  }
}

#if !defined(__SANITIZE_THREAD__)  // which lets no forked process start a thread
TEST_CASE("a child forked during a background task neither waits for it nor hangs at exit") {
  std::latch forked(1);
  auto task = std::make_unique<BackgroundTask>([&] { forked.wait(); });
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // a hang ends as a signal
    const bool known = task->wait();
    task.reset();
    BackgroundTask own([] {});
    ::_exit(!known && own.wait() ? 0 : 1);
  }
  forked.count_down();
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(task->wait());
}
#endif

}  // namespace
}  // namespace unstarve
