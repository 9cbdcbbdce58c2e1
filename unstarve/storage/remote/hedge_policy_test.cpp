#include "unstarve/storage/remote/hedge_policy.h"

#include <catch2/catch.hpp>

namespace unstarve::remote {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMs = 1'000'000;

}  // namespace

TEST_CASE("a request is a straggler after a multiple of the typical time for its size") {
  RemoteOptions options;
  options.hedge_factor = 3;
  options.hedge_floor = 50ms;
  HedgePolicy policy(options);
  CHECK(policy.enabled());
  CHECK_FALSE(policy.is_straggler(1000, 1'000'000 * kMs));  // the typical time is unknown
  for (int i = 0; i < 16; ++i) {
    policy.add_latency(1000, 40 * kMs);
    policy.add_latency(1'000'000, 10 * kMs);
  }
  CHECK_FALSE(policy.is_straggler(1000, 119 * kMs));
  CHECK(policy.is_straggler(1000, 120 * kMs));
  // Three times 10 ms is less than the floor.
  CHECK_FALSE(policy.is_straggler(1'000'000, 49 * kMs));
  CHECK(policy.is_straggler(1'000'000, 50 * kMs));
}

TEST_CASE("a tenth of the requests in flight, and one, may be hedges") {
  RemoteOptions options;
  options.in_flight = 20;
  HedgePolicy policy(options);
  for (int i = 0; i < 3; ++i) {
    CHECK(policy.may_start());
    policy.count_start();
  }
  CHECK_FALSE(policy.may_start());
  policy.count_won();
  policy.count_end();
  CHECK(policy.may_start());
  CHECK(policy.hedges() == 3);
  CHECK(policy.hedges_won() == 1);
  options.hedge_factor = 0;
  CHECK_FALSE(policy.enabled());
}

}  // namespace unstarve::remote
