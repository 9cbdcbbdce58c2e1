#include "unstarve/storage/cache/byte_budget.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace unstarve {
namespace {

TEST_CASE("a budget grants all or nothing, and returned bytes can be taken again") {
  ByteBudget budget(10);
  CHECK(budget.take(7));
  CHECK_FALSE(budget.take(4));
  CHECK(budget.left() == 3);
  CHECK(budget.take(3));
  CHECK_FALSE(budget.take(1));
  budget.give_back(7);
  CHECK(budget.take(7));
  CHECK(budget.size() == 10);
}

TEST_CASE("concurrent threads never take more than the budget") {
  ByteBudget budget(1000);
  std::atomic<std::uint64_t> taken{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        while (budget.take(3)) taken += 3;
      });
  }
  CHECK(taken == 999);
  CHECK(budget.left() == 1);
}

}  // namespace
}  // namespace unstarve
