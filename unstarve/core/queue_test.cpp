#include "unstarve/core/queue.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

using unstarve::BoundedQueue;

TEST_CASE("a queue gives items back in order, around its ring") {
  BoundedQueue<int> queue(3);
  for (int round = 0; round < 5; ++round) {
    CHECK(queue.push(int{round}));
    CHECK(queue.push(round + 100));
    CHECK(queue.pop() == round);
    CHECK(queue.pop() == round + 100);
  }
  CHECK(queue.try_pop() == std::nullopt);
}

TEST_CASE("a full queue refuses try_push and keeps the item with the caller") {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  CHECK(queue.try_push(std::make_unique<int>(1)));
  auto second = std::make_unique<int>(2);
  CHECK_FALSE(queue.try_push(std::move(second)));
  REQUIRE(second != nullptr);  // NOLINT(bugprone-use-after-move): a refused push leaves it
  CHECK(**queue.try_pop() == 1);
  CHECK(queue.try_push(std::move(second)));
  CHECK(queue.size() == 1);
  CHECK(queue.capacity() == 1);
}

TEST_CASE("a closed queue refuses producers and is drained by consumers") {
  BoundedQueue<std::unique_ptr<int>> queue(2);
  CHECK(queue.push(std::make_unique<int>(1)));
  queue.close();
  queue.close();
  CHECK(queue.closed());
  auto late = std::make_unique<int>(2);
  CHECK_FALSE(queue.push(std::move(late)));
  CHECK_FALSE(queue.try_push(std::move(late)));
  CHECK(late != nullptr);  // NOLINT(bugprone-use-after-move): a refused push leaves it
  CHECK(**queue.pop() == 1);
  CHECK_FALSE(queue.pop());
}

TEST_CASE("closing wakes every waiting producer and consumer") {
  BoundedQueue<int> empty(1), full(1);
  CHECK(full.push(0));
  std::atomic<int> refused{0}, dry{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] { refused += !full.push(1); });
    threads.emplace_back([&] { dry += !empty.pop().has_value(); });
  }
  empty.close();
  full.close();
  threads.clear();
  CHECK(refused == 3);
  CHECK(dry == 3);
}

TEST_CASE("a stop request wakes a waiting thread, and what is there is still given") {
  BoundedQueue<int> queue(1);
  bool popped = true;
  {
    std::jthread consumer([&](const std::stop_token& stop) { popped = queue.pop(stop).has_value(); });
  }
  CHECK_FALSE(popped);
  std::stop_source stopped;
  stopped.request_stop();
  CHECK(queue.push(7, stopped.get_token()));
  CHECK_FALSE(queue.push(8, stopped.get_token()));
  CHECK(queue.pop(stopped.get_token()) == 7);
}

TEST_CASE("many producers and consumers pass every item exactly once") {
  constexpr int kProducers = 3, kConsumers = 3, kItems = 3000;
  BoundedQueue<int> queue(4);
  std::vector<std::atomic<int>> seen(kProducers * kItems);
  {
    std::vector<std::jthread> consumers;
    for (int c = 0; c < kConsumers; ++c) {
      consumers.emplace_back([&] {
        while (auto item = queue.pop()) ++seen[static_cast<std::size_t>(*item)];
      });
    }
    {
      std::vector<std::jthread> producers;
      for (int p = 0; p < kProducers; ++p) {
        producers.emplace_back([&, p] {
          for (int i = 0; i < kItems; ++i) {
            if (!queue.push(p * kItems + i)) std::terminate();
          }
        });
      }
    }
    queue.close();
  }
  for (const auto& count : seen) REQUIRE(count == 1);
}

TEST_CASE("a queue without room for one item is refused") { CHECK_THROWS_AS(BoundedQueue<int>(0), unstarve::Error); }

TEST_CASE("a queue lets go of what was popped") {
  BoundedQueue<std::shared_ptr<int>> queue(4);
  auto item = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = item;
  CHECK(queue.push(std::move(item)));
  (void)queue.pop();
  CHECK(watch.expired());
}
