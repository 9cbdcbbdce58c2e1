#include "unstarve/core/thread_pool.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <barrier>
#include <latch>
#include <memory>

#include "unstarve/core/error.h"

using unstarve::Error;
using unstarve::ErrorKind;
using unstarve::ThreadPool;

TEST_CASE("wait() returns when every task has run, and the pool stays usable") {
  ThreadPool pool(3);
  CHECK(pool.threads() == 3);
  pool.wait();  // nothing to wait for
  std::atomic<int> done{0};
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < 200; ++i) pool.submit([&] { ++done; });
    pool.wait();
    CHECK(done == 200 * round);
  }
}

TEST_CASE("tasks run concurrently") {
  ThreadPool pool(2);
  std::barrier meet(2);  // both tasks must arrive
  for (int i = 0; i < 2; ++i) pool.submit([&] { meet.arrive_and_wait(); });
  pool.wait();
}

TEST_CASE("one thread runs tasks in the order of submission") {
  ThreadPool pool(1);
  std::vector<int> order;
  for (int i = 0; i < 50; ++i) pool.submit([&, i] { order.push_back(i); });
  pool.wait();
  REQUIRE(order.size() == 50);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("the first exception is rethrown once, and the other tasks still run") {
  ThreadPool pool(1);
  int done = 0;
  pool.submit([] { throw Error(ErrorKind::kInput, "first"); });
  pool.submit([] { throw Error(ErrorKind::kInput, "second"); });
  pool.submit([&] { ++done; });
  CHECK_THROWS_WITH(pool.wait(), "first");
  CHECK(done == 1);
  CHECK_NOTHROW(pool.wait());
}

TEST_CASE("a task may submit another, and wait() includes it") {
  ThreadPool pool(2);
  std::atomic<bool> inner{false};
  pool.submit([&] { pool.submit([&] { inner = true; }); });
  pool.wait();
  CHECK(inner);
}

TEST_CASE("destroying the pool lets the running task finish and drops the rest") {
  std::latch begun(1);
  std::atomic<bool> finished{false}, dropped_ran{false};
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = held;
  {
    ThreadPool pool(1);
    pool.submit([&, stop = pool.stop_token()] {
      begun.count_down();
      while (!stop.stop_requested()) std::this_thread::yield();
      finished = true;
    });
    pool.submit([&, held] { dropped_ran = true; });
    held.reset();
    begun.wait();
  }
  CHECK(finished);
  CHECK_FALSE(dropped_ran);
  CHECK(watch.expired());
}

TEST_CASE("a task's captures are destroyed when wait() returns") {
  ThreadPool pool(2);
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = held;
  pool.submit([held] {});
  held.reset();
  pool.wait();
  CHECK(watch.expired());
}

TEST_CASE("a pool without threads is rejected") { CHECK_THROWS_AS(ThreadPool(0), Error); }
