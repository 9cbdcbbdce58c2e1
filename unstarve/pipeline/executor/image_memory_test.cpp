#include "unstarve/pipeline/executor/image_memory.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

// 2 MB for a worker, 8 MB for larger images.
MemoryPlan image_plan() {
  MemoryPlan plan = plan_memory({.limit = 64'000'000, .batch = 1'000'000, .worker = 2'000'000});
  plan.larger_images = 8'000'000;
  return plan;
}

TEST_CASE("an image borrows only what its worker's share lacks") {
  ImageMemory memory(image_plan());
  CHECK(memory.borrow(2'000'000, {10, 10}) == 0);
  CHECK(memory.borrowed() == 0);
  CHECK(memory.borrow(5'000'000, {10, 10}) == 3'000'000);
  CHECK(memory.borrowed() == 3'000'000);
  memory.give_back(3'000'000);
  CHECK(memory.borrowed() == 0);
}

TEST_CASE("an image that never fits is an error with the limit that it needs") {
  ImageMemory memory(image_plan());
  CHECK(memory.borrow(10'000'000, {10, 10}) == 8'000'000);
  memory.give_back(8'000'000);
  CHECK_THROWS_WITH(memory.borrow(10'000'001, {4000, 3000}),
                    Catch::Contains("4000x3000 pixels needs 10.0 MB") && Catch::Contains("memory_limit_mb: 64 leaves"));
  CHECK(memory.borrowed() == 0);
}

TEST_CASE("a worker waits until another returns what it borrowed") {
  ImageMemory memory(image_plan());
  const std::uint64_t first = memory.borrow(8'000'000, {10, 10});
  std::atomic<bool> borrowed = false;
  std::jthread other([&] {
    const std::uint64_t second = memory.borrow(9'000'000, {10, 10});
    borrowed = true;
    memory.give_back(second);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(borrowed);
  memory.give_back(first);
  other.join();
  CHECK(borrowed);
  CHECK(memory.borrowed() == 0);
}

}  // namespace
}  // namespace unstarve
