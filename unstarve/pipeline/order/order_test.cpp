#include "unstarve/pipeline/order/order.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {
namespace {

TEST_CASE("a permutation visits every id once, for any size") {
  for (std::uint64_t size : {1ULL, 2ULL, 3ULL, 7ULL, 64ULL, 65ULL, 1000ULL, 4097ULL}) {
    const Permutation permutation(size, 42, 3);
    std::set<std::uint64_t> seen;
    for (std::uint64_t position = 0; position < size; ++position) seen.insert(permutation(position));
    CHECK(seen.size() == size);
    CHECK(*seen.rbegin() == size - 1);
  }
}

TEST_CASE("different seeds and epochs give different permutations, equal keys the same") {
  const Permutation a(1000, 1, 0), same(1000, 1, 0), other_epoch(1000, 1, 1), other_seed(1000, 2, 0);
  int equal_epoch = 0, equal_seed = 0;
  for (std::uint64_t position = 0; position < 1000; ++position) {
    REQUIRE(a(position) == same(position));
    equal_epoch += a(position) == other_epoch(position);
    equal_seed += a(position) == other_seed(position);
  }
  // A random permutation has one fixed point on average (Poisson): 12 or more happen once in 10^9.
  CHECK(equal_epoch < 12);
  CHECK(equal_seed < 12);
}

TEST_CASE("the position of an id is uniform over epochs") {
  // Chi-square of the position of each of 16 ids over 16,000 epochs: 15 degrees of freedom, 99.99 % quantile 44.3.
  constexpr int kSize = 16, kEpochs = 16'000;
  std::array<std::array<int, kSize>, kSize> counts{};
  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    const Permutation permutation(kSize, 7, epoch);
    for (std::uint64_t position = 0; position < kSize; ++position)
      ++counts[static_cast<std::size_t>(position)][static_cast<std::size_t>(permutation(position))];
  }
  for (const auto& row : counts) {
    double chi_square = 0;
    for (int count : row) chi_square += std::pow(count - kEpochs / kSize, 2) / (kEpochs / kSize);
    CHECK(chi_square < 44.3);
  }
}

TEST_CASE("adjacent ids do not stay adjacent") {
  const Permutation permutation(100'000, 5, 0);
  int close = 0;
  for (std::uint64_t position = 0; position + 1 < 100'000; ++position) {
    const auto a = static_cast<std::int64_t>(permutation(position)),
               b = static_cast<std::int64_t>(permutation(position + 1));
    close += std::abs(a - b) <= 50;
  }
  // Chance 1e-3 each: 100 expected, standard deviation 10.
  CHECK(close < 160);
  CHECK(close > 40);
}

std::vector<std::uint64_t> ids_of_epoch(const Order& order, std::uint32_t number) {
  std::vector<std::uint64_t> ids;
  const Order::Epoch epoch = order.epoch(number);
  for (std::uint64_t batch = 0; batch < order.batches_per_epoch(); ++batch)
    for (std::uint64_t index = 0; index < order.batch_samples(batch); ++index) ids.push_back(epoch.id(batch, index));
  return ids;
}

TEST_CASE("ranks share an epoch without overlap and get the same number of batches") {
  for (int world : {1, 2, 3, 8}) {
    std::multiset<std::uint64_t> seen;
    std::set<std::size_t> counts;
    for (int rank = 0; rank < world; ++rank) {
      const Order order({true, 9, rank, world}, {10, LastBatch::kDrop}, 1007);
      const auto ids = ids_of_epoch(order, 2);
      counts.insert(ids.size());
      seen.insert(ids.begin(), ids.end());
    }
    CHECK(counts.size() == 1);
    CHECK(seen.size() == 1007 / (10ULL * world) * 10 * world);
    CHECK(std::set(seen.begin(), seen.end()).size() == seen.size());
  }
}

TEST_CASE("a kept last batch covers every sample, filled with the first samples of the epoch") {
  for (int world : {1, 2, 3}) {
    std::multiset<std::uint64_t> seen;
    for (int rank = 0; rank < world; ++rank) {
      const auto ids = ids_of_epoch(Order({true, 9, rank, world}, {10, LastBatch::kKeep}, 101), 0);
      seen.insert(ids.begin(), ids.end());
    }
    CHECK(std::set(seen.begin(), seen.end()).size() == 101);
    CHECK(seen.size() < 101 + static_cast<std::size_t>(world));
  }
}

TEST_CASE("the union over ranks is the same sequence of global batches for any world") {
  const auto global = [](int world, int batch) {
    std::vector<std::set<std::uint64_t>> batches;
    for (int rank = 0; rank < world; ++rank) {
      const Order order({true, 3, rank, world}, {batch, LastBatch::kDrop}, 240);
      const Order::Epoch epoch = order.epoch(1);
      batches.resize(order.batches_per_epoch());
      for (std::uint64_t b = 0; b < order.batches_per_epoch(); ++b)
        for (std::uint64_t i = 0; i < order.batch_samples(b); ++i) batches[b].insert(epoch.id(b, i));
    }
    return batches;
  };
  CHECK(global(1, 24) == global(2, 12));
  CHECK(global(1, 24) == global(4, 6));
}

TEST_CASE("invalid orders are rejected") {
  CHECK_THROWS_AS(Order({true, 0, 0, 1}, {0, LastBatch::kDrop}, 10), Error);
  CHECK_THROWS_AS(Order({true, 0, 2, 2}, {1, LastBatch::kDrop}, 10), Error);
  CHECK_THROWS_AS(Order({true, 0, 0, 1}, {1, LastBatch::kDrop}, 0), Error);
  CHECK_THROWS_WITH(Order({true, 0, 0, 1}, {11, LastBatch::kDrop}, 10),
                    Catch::Contains("10 samples, batch 11") && Catch::Contains("(--batch) to at most 10,") &&
                        Catch::Contains("batch.last: keep"));
  CHECK_THROWS_WITH(Order({true, 0, 0, 3}, {11, LastBatch::kDrop}, 10), Catch::Contains("(--batch) to at most 3,"));
  CHECK_THROWS_WITH(Order({true, 0, 0, 3}, {1, LastBatch::kDrop}, 2), Catch::Contains("use fewer ranks, or keep"));
  CHECK(Order({true, 0, 0, 1}, {11, LastBatch::kKeep}, 10).batches_per_epoch() == 1);
}

TEST_CASE("the remaining samples of an epoch are distributed to any ranks and batches exactly once") {
  constexpr std::uint64_t kSamples = 103;
  for (const bool drop : {true, false}) {
    for (std::uint64_t offset : {0, 1, 40, 99, 102, 103}) {
      for (int world : {1, 2, 3}) {
        std::multiset<std::uint64_t> seen;
        std::uint64_t batches = 0;
        for (int rank = 0; rank < world; ++rank) {
          OrderSpec spec;
          spec.seed = 5;
          spec.rank = rank;
          spec.world = world;
          const Order rest = Order(spec, {4, drop ? LastBatch::kDrop : LastBatch::kKeep}, kSamples).remaining(offset);
          batches = rest.batches_per_epoch();
          const Order::Epoch epoch = rest.epoch(2);
          for (std::uint64_t position = 0; position < rest.samples_per_epoch(); ++position)
            seen.insert(epoch.id_at(position));
        }
        const std::uint64_t left = kSamples - offset, global = 4 * static_cast<std::uint64_t>(world);
        CHECK(batches == (drop ? left / global : (left + global - 1) / global));
        const Permutation order(kSamples, 5, 2);
        for (std::uint64_t position = 0; position < kSamples; ++position) {
          const bool due = position >= offset && (!drop || position < offset + left / global * global);
          // A kept last batch is filled with the first samples of the epoch.
          const bool fills = position < seen.size() - std::min<std::uint64_t>(left, seen.size());
          CHECK(seen.count(order(position)) == (due ? 1U : 0U) + (fills ? 1U : 0U));
        }
      }
    }
  }
}

TEST_CASE("the remaining order skips samples that were used out of order") {
  constexpr std::uint64_t kSamples = 103;
  const Permutation order(kSamples, 5, 2);
  std::vector<bool> used(30);
  for (const std::size_t i : {1, 2, 7, 29}) used[i] = true;
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{40}, std::uint64_t{90}}) {
    for (int world : {1, 3}) {
      std::multiset<std::uint64_t> seen;
      for (int rank = 0; rank < world; ++rank) {
        OrderSpec spec;
        spec.seed = 5;
        spec.rank = rank;
        spec.world = world;
        const Order rest = Order(spec, {1, LastBatch::kDrop}, kSamples).remaining(offset, used);
        const Order::Epoch epoch = rest.epoch(2);
        for (std::uint64_t sample = 0; sample < rest.samples_per_epoch(); ++sample) {
          CHECK(order(rest.position_of(sample)) == epoch.id_at(sample));
          seen.insert(epoch.id_at(sample));
        }
      }
      std::uint64_t left = 0;
      for (std::uint64_t position = offset; position < kSamples; ++position)
        left += position - offset >= used.size() || !used[position - offset];
      left -= left % static_cast<std::uint64_t>(world);
      CHECK(seen.size() == left);
      for (std::uint64_t position = 0; position < kSamples && left > 0; ++position) {
        const bool due = position >= offset && (position - offset >= used.size() || !used[position - offset]);
        CHECK(seen.count(order(position)) == (due ? 1U : 0U));
        left -= due;
      }
    }
  }
}

}  // namespace
}  // namespace unstarve
