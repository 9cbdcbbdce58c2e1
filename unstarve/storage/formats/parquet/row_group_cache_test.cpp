#include "unstarve/storage/formats/parquet/row_group_cache.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kGroupBytes = std::uint64_t{1} << 20;

std::shared_ptr<const RowGroup> group_of(std::size_t number) {
  auto group = std::make_shared<RowGroup>();
  group->labels = {static_cast<std::int64_t>(number)};
  group->block_bytes = kGroupBytes;
  return group;
}

// Counts how often each group was decoded, and the groups that exist.
struct Counted {
  std::vector<std::atomic<int>> times = std::vector<std::atomic<int>>(32);
  std::atomic<int> alive = 0;

  RowGroupCache::Source source() {
    return {times.size(),
            [this](std::size_t group) {
              ++times[group];
              ++alive;
              const std::shared_ptr<const RowGroup> rows = group_of(group);
              return std::shared_ptr<const RowGroup>(rows.get(), [this, rows](const RowGroup*) { --alive; });
            },
            [](std::size_t) { return kGroupBytes; }};
  }
  [[nodiscard]] int total() const {
    int sum = 0;
    for (const std::atomic<int>& each : times) sum += each;
    return sum;
  }
};

// Waits until the pool has made the condition true; fails the test after a timeout.
template <class Condition>
void eventually(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  REQUIRE(condition());
}

TEST_CASE("a group that fits is decoded once") {
  Counted counted;
  RowGroupCache cache(counted.source(), 100 * kGroupBytes, 1);
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t group : {20, 3, 11}) CHECK(cache.get(group)->labels[0] == static_cast<std::int64_t>(group));
  }
  for (const std::size_t group : {20, 3, 11}) CHECK(counted.times[group] == 1);
}

TEST_CASE("the least recently used group is evicted, and the budget is kept") {
  Counted counted;
  RowGroupCache cache(counted.source(), 2 * kGroupBytes + kGroupBytes / 2, 1);
  (void)cache.get(10);
  (void)cache.get(20);
  (void)cache.get(10);
  (void)cache.get(30);  // evicts 20
  CHECK(counted.alive == 2);
  (void)cache.get(10);
  CHECK(counted.times[10] == 1);
  (void)cache.get(20);
  CHECK(counted.times[20] == 2);
}

TEST_CASE("a group larger than the budget stays until the next one, and its users keep it") {
  Counted counted;
  RowGroupCache cache(counted.source(), 1, 1);
  const auto held = cache.get(5);
  (void)cache.get(5);
  CHECK(counted.times[5] == 1);
  (void)cache.get(9);
  CHECK(held->labels[0] == 5);
  (void)cache.get(5);
  CHECK(counted.times[5] == 2);
  cache.prefetch(7);  // too large to be decoded in advance
  CHECK(counted.times[7] == 0);
}

TEST_CASE("sequential reading decodes in advance, each group once") {
  Counted counted;
  RowGroupCache cache(counted.source(), 12 * kGroupBytes, 2);
  (void)cache.get(0);
  eventually([&] { return counted.times[1] == 1 && counted.times[2] == 1; });
  for (std::size_t group = 0; group < counted.times.size(); ++group) {
    for (int row = 0; row < 3; ++row) CHECK(cache.get(group)->labels[0] == static_cast<std::int64_t>(group));
  }
  CHECK(counted.total() == static_cast<int>(counted.times.size()));
}

TEST_CASE("random reading decodes only requested groups") {
  Counted counted;
  {
    RowGroupCache cache(counted.source(), 100 * kGroupBytes, 2);
    for (const std::size_t group : {9, 4, 30, 17, 2, 25}) (void)cache.get(group);
  }
  CHECK(counted.total() == 6);
}

TEST_CASE("concurrent requests for a group decode it once") {
  Counted counted;
  RowGroupCache cache(counted.source(), 100 * kGroupBytes, 2);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> readers;
    for (std::size_t reader = 0; reader < 4; ++reader) {
      readers.emplace_back([&, reader] {
        for (std::size_t step = 0; step < 2000; ++step) {
          const std::size_t group = (step * (reader + 1) + reader) % counted.times.size();
          cache.prefetch((group + 5) % counted.times.size());
          if (cache.get(group)->labels[0] != static_cast<std::int64_t>(group)) ++wrong;
        }
      });
    }
  }
  CHECK(wrong == 0);
  CHECK(counted.total() == static_cast<int>(counted.times.size()));
}

TEST_CASE("with a small budget many threads get the requested groups") {
  Counted counted;
  RowGroupCache cache(counted.source(), 3 * kGroupBytes, 2);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> readers;
    for (std::size_t reader = 0; reader < 4; ++reader) {
      readers.emplace_back([&, reader] {
        for (std::size_t step = 0; step < 500; ++step) {
          const std::size_t group = (step * 7 + reader * 3) % counted.times.size();
          if (cache.get(group)->labels[0] != static_cast<std::int64_t>(group)) ++wrong;
        }
      });
    }
  }
  CHECK(wrong == 0);
  eventually([&] { return counted.alive <= 3; });
}

TEST_CASE("damage is cached, other failures are retried") {
  int tried_damaged = 0, tried_lost = 0;
  RowGroupCache cache({4,
                       [&](std::size_t group) -> std::shared_ptr<const RowGroup> {
                         if (group == 1 && ++tried_damaged > 0) throw Error(ErrorKind::kInput, "damaged");
                         if (group == 2 && ++tried_lost < 3) throw Error(ErrorKind::kIo, "lost");
                         return group_of(group);
                       },
                       [](std::size_t) { return kGroupBytes * 1000; }},  // nothing is decoded in advance
                      100 * kGroupBytes, 1);
  for (int i = 0; i < 3; ++i) CHECK_THROWS_WITH(cache.get(1), "damaged");
  CHECK(tried_damaged == 1);
  CHECK_THROWS_WITH(cache.get(2), "lost");
  CHECK_THROWS_WITH(cache.get(2), "lost");
  CHECK(cache.get(2)->labels[0] == 2);
  CHECK(tried_lost == 3);
}

TEST_CASE("a failure in the background is thrown by get()") {
  std::atomic<int> tried{0};
  RowGroupCache cache({2,
                       [&](std::size_t) -> std::shared_ptr<const RowGroup> {
                         ++tried;
                         throw Error(ErrorKind::kInput, "damaged");
                       },
                       [](std::size_t) { return kGroupBytes; }},
                      100 * kGroupBytes, 1);
  cache.prefetch(1);
  eventually([&] { return tried == 1; });
  CHECK_THROWS_WITH(cache.get(1), "damaged");
  CHECK(tried == 1);
}

TEST_CASE("destruction drops queued groups") {
  Counted counted;
  for (int i = 0; i < 50; ++i) {
    RowGroupCache cache(counted.source(), 100 * kGroupBytes, 2);
    for (std::size_t group = 0; group < 8; ++group) cache.prefetch(group);
  }
  CHECK(counted.total() <= 50 * 8);
}

}  // namespace
}  // namespace unstarve
