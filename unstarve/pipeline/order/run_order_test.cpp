#include "unstarve/pipeline/order/run_order.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
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

TEST_CASE("a start after the last batch is the beginning of the next epoch") {
  const Order order(OrderSpec{}, {10, LastBatch::kDrop}, 57);
  CHECK(RunOrder(order, {4, 0, 50}, 0).start() == EpochPosition{5, 0, 0});
  const RunOrder over(order, {4, 0, 55}, 1);
  CHECK_FALSE(over.has(5));
  CHECK(over.samples() == 0);
  CHECK_THROWS_AS(RunOrder(order, {0, 5}, 0), Error);
}

}  // namespace
}  // namespace unstarve
