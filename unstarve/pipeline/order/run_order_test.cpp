#include "unstarve/pipeline/order/run_order.h"

#include <catch2/catch.hpp>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {
namespace {

TEST_CASE("samples of a run are numbered, and a number identifies epoch and sample") {
  for (const bool drop : {true, false}) {
    const Order order(OrderSpec{}, {10, drop ? LastBatch::kDrop : LastBatch::kKeep}, 57);
    for (const EpochPosition& start :
         {EpochPosition{}, EpochPosition{3, 2}, EpochPosition{1, 0, 23}, EpochPosition{1, 1, 23}}) {
      const RunOrder run(order, start, 3);
      std::uint64_t number = 0;
      for (std::uint32_t epoch = start.epoch; run.has(epoch); ++epoch) {
        const Order& of_epoch = run.of_epoch(epoch);
        for (std::uint64_t batch = epoch == start.epoch ? start.batch : 0; batch < of_epoch.batches_per_epoch();
             ++batch) {
          for (std::uint64_t index = 0; index < of_epoch.batch_samples(batch); ++index, ++number) {
            REQUIRE(run.number(epoch, batch, index) == number);
            CHECK(run.epoch_sample(number).epoch == epoch);
            CHECK(run.epoch_sample(number).sample == batch * 10 + index);
          }
        }
      }
      CHECK(run.samples() == number);
    }
  }
}

TEST_CASE("a batch of the run has its number of samples, those that are no fillers, and whether it ends its epoch") {
  for (const int rank : {0, 1}) {
    OrderSpec spec;
    spec.rank = rank;
    spec.world = 2;
    const RunOrder run(Order(spec, {4, LastBatch::kKeep}, 11), {}, 0);  // 8 and 3 samples of both ranks
    const RunBatch first = run.batch(3, 0), last = run.batch(3, 1);
    CHECK(first.epoch == 3);
    CHECK(first.index == 0);
    CHECK_FALSE(first.last_of_epoch);
    CHECK(first.samples == 4);
    CHECK(first.real == 4);
    CHECK(last.index == 1);
    CHECK(last.last_of_epoch);
    CHECK(last.samples == 2);
    CHECK(last.real == (rank == 0 ? 2 : 1));
  }
}

TEST_CASE("a start after the last batch is the beginning of the next epoch") {
  const Order order(OrderSpec{}, {10, LastBatch::kDrop}, 57);
  CHECK(RunOrder(order, {4, 0, 50}, 0).start() == EpochPosition{5, 0, 0});
  const RunOrder over(order, {4, 0, 55}, 1);
  CHECK_FALSE(over.has(5));
  CHECK(over.samples() == 0);
  CHECK_THROWS_AS(RunOrder(order, {0, 5}, 0), Error);
}

OrderBasis with_shares(std::uint64_t records, std::vector<EpochShare> shares) {
  return {std::make_shared<SampleSet>(records), {}, std::move(shares)};
}

TEST_CASE("epochs with a share of the samples are the first part of whole epochs, for all ranks together") {
  constexpr std::uint64_t kRecords = 57;
  for (const int world : {1, 2}) {
    CAPTURE(world);
    const std::vector<EpochShare> shares{{0, 0.5}, {2, 0.75}, {3, 1}};
    std::vector<std::set<std::uint64_t>> used(5);
    for (int rank = 0; rank < world; ++rank) {
      OrderSpec spec;
      spec.rank = rank;
      spec.world = world;
      const Order whole(spec, {5, LastBatch::kDrop}, kRecords);
      const Order order(spec, {5, LastBatch::kDrop}, with_shares(kRecords, shares));
      CHECK(order.length() == kRecords);
      const RunOrder run(order, {}, 5);
      std::uint64_t number = 0;
      for (std::uint32_t epoch = 0; epoch < 5; ++epoch) {
        const Order& part = run.of_epoch(epoch);
        const auto batches = whole.batches_per_epoch();
        const std::uint64_t expected = epoch < 2 ? batches / 2 : epoch < 3 ? batches * 3 / 4 : batches;
        REQUIRE(part.batches_per_epoch() == expected);
        const Order::Epoch samples = part.epoch(epoch), all = whole.epoch(epoch);
        for (std::uint64_t batch = 0; batch < expected; ++batch) {
          for (std::uint64_t index = 0; index < 5; ++index, ++number) {
            CHECK(samples.id(batch, index) == all.id(batch, index));
            CHECK(used[epoch].insert(samples.id(batch, index)).second);
            REQUIRE(run.number(epoch, batch, index) == number);
            CHECK(run.epoch_sample(number).epoch == epoch);
            CHECK(run.epoch_sample(number).sample == batch * 5 + index);
          }
        }
      }
      CHECK(run.samples() == number);
    }
    CHECK(used[0] != used[1]);  // another part of the data in each epoch
  }
}

TEST_CASE("a run resumes within an epoch that has a share of the samples, and after its end") {
  const Order order(OrderSpec{}, {5, LastBatch::kKeep}, with_shares(57, {{0, 0.5}, {2, 1}}));
  const RunOrder within(order, {1, 0, 10}, 0);
  CHECK(within.of_epoch(1).batches_per_epoch() == 3);  // 25 samples, 10 of them used
  CHECK(within.of_epoch(1).epoch(1).id(0, 0) == RunOrder(order, {}, 0).of_epoch(1).epoch(1).id(2, 0));
  CHECK(within.of_epoch(2).batches_per_epoch() == 12);
  CHECK(within.epoch_sample(15).epoch == 2);
  CHECK(RunOrder(order, {1, 0, 25}, 0).start() == EpochPosition{2, 0, 0});
  // At least one batch, and nothing after a change at the first epoch of the run.
  CHECK(Order(OrderSpec{}, {50, LastBatch::kDrop}, with_shares(57, {{0, 0.1}})).of_epoch(3).length() == 50);
  CHECK(RunOrder(order, {2, 0}, 3).samples() == 3 * 57);
}

}  // namespace
}  // namespace unstarve
