#include "unstarve/pipeline/order/epoch_shares.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

TEST_CASE("epoch shares: full batches of the share that applies, at least one, at most all samples") {
  const EpochShares shares({{0, 0.29}, {2, 0.5}, {5, 1}});
  CHECK(shares.samples(0, 1007, 10) == 290);
  CHECK(shares.samples(1, 1007, 10) == 290);
  CHECK(shares.samples(2, 1007, 10) == 500);
  CHECK(shares.samples(4, 1007, 10) == 500);
  CHECK(shares.samples(5, 1007, 10) == 1007);
  CHECK(shares.samples(900, 1007, 10) == 1007);
  CHECK(shares.samples(0, 15, 10) == 10);  // at least one batch
  CHECK(shares.samples(0, 7, 10) == 7);
  CHECK(EpochShares({}).samples(3, 1007, 10) == 1007);
}

}  // namespace
}  // namespace unstarve
