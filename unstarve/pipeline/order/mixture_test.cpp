#include "unstarve/pipeline/order/mixture.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "unstarve/core/error.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

using Weights = std::vector<double>;

TEST_CASE("weights with few digits are represented exactly, others within a thousandth") {
  for (const Weights& weights : {Weights{0.7, 0.3}, Weights{1, 1, 1}, Weights{1, 2, 3, 4}, Weights(1000, 1.0),
                                 Weights{0.125, 0.875}, Weights{5}, Weights{2, 0, 1}})
    CHECK(Mixture(weights).deviation() < 1e-12);
  CHECK(Mixture(Weights{std::sqrt(2.0), 1, std::exp(1.0)}).deviation() < 1e-3);
}

TEST_CASE("every weight above 0 gets samples, 0 gets none") {
  const Mixture mixture(Weights{0, 1e-4, 3, 0, 7, 0});
  for (const std::size_t none : {0, 3, 5}) CHECK(mixture.quota(none) == 0);
  CHECK(mixture.quota(1) == 1);
  CHECK(Mixture(Weights{std::sqrt(2.0) * 1e-4, 3, 7}).quota(0) >= 10);  // fits no short block
  CHECK(std::abs(static_cast<double>(mixture.quota(4)) / static_cast<double>(mixture.block()) - 0.7) < 1e-3);
}

TEST_CASE("invalid weights are rejected") {
  CHECK_THROWS_WITH(Mixture(Weights{1, -1}), Catch::Contains("weight 1: -1; expected 0 or more"));
  CHECK_THROWS_WITH(Mixture(Weights{std::nan(""), 1}), Catch::Contains("weight 0: nan"));
  CHECK_THROWS_AS(Mixture(Weights{std::numeric_limits<double>::infinity(), 1}), Error);
  CHECK_THROWS_WITH(Mixture(Weights{0, 0}), Catch::Contains("all weights are 0"));
  CHECK_THROWS_WITH(Mixture(Weights{1e308, 1e308}), Catch::Contains("sum"));
  CHECK_THROWS_WITH(Mixture(Weights{1, 1e-9}), Catch::Contains("a millionth"));
  CHECK_THROWS_AS(Mixture(Weights{}), Error);
}

TEST_CASE("each block contains its quotas, and the samples of each group are numbered without gaps") {
  const PermutationKeys keys(3, 0);
  Random random(1, 0, 0, 0);
  for (int round = 0; round < 30; ++round) {
    Weights weights(1 + random.below(20));
    for (double& weight : weights) weight = random.below(5) == 0 ? 0 : random.uniform(0.01, 3);
    weights[0] = 1;
    const Mixture mixture(weights);
    std::vector<std::set<std::uint64_t>> given(weights.size());
    for (std::uint64_t block = 0; block < 3; ++block) {
      for (std::uint64_t i = 0; i < mixture.block(); ++i) {
        const Mixture::Draw draw = mixture.at(keys, block * mixture.block() + i, 7);
        REQUIRE(given[draw.group].insert(draw.count).second);
      }
      for (std::size_t group = 0; group < weights.size(); ++group) {
        const std::uint64_t expected = (block + 1) * mixture.quota(group);
        REQUIRE(given[group].size() == expected);
        if (expected > 0) REQUIRE(*given[group].rbegin() == expected - 1);
        const double exact = static_cast<double>(mixture.block()) * weights[group] /
                             std::accumulate(weights.begin(), weights.end(), 0.0);
        REQUIRE(std::abs(static_cast<double>(mixture.quota(group)) - exact) < 1);
      }
    }
  }
}

TEST_CASE("a mixture is random: groups neither form runs nor alternate") {
  const Mixture mixture(Weights{1, 1});
  const PermutationKeys keys(3, 0);
  REQUIRE(mixture.block() == 64);
  int changes = 0;
  for (std::uint64_t i = 1; i < 10'000; ++i)
    changes += mixture.at(keys, i, 0).group != mixture.at(keys, i - 1, 0).group;
  // A random sequence has 5000 on average, balanced blocks 80 more; standard deviation 50.
  CHECK(changes > 4700);
  CHECK(changes < 5300);
}

TEST_CASE("new weights apply from the next block on, and each group continues its stream") {
  const Weights before{0.7, 0.3}, after{0.5, 0.5};
  const MixtureStretch start{0, {0, 0}, before};
  CHECK(continue_mixture(start, before, 1234) == std::vector{start});
  CHECK(continue_mixture(start, after, 0) == std::vector{MixtureStretch{0, {0, 0}, after}});
  const std::uint64_t block = Mixture(before).block();
  REQUIRE(block == 70);
  REQUIRE(Mixture(after).block() == 64);
  const auto next = continue_mixture(start, after, 141);
  CHECK(next == std::vector{start, MixtureStretch{210, {147, 63}, after}});
  CHECK(continue_mixture(start, after, 210) == next);
  // The old weights apply until the next block: a resume before it gives the same stretches.
  CHECK(continue_mixture(next[0], after, 209) == next);
  CHECK(continue_mixture(next[1], before, 211) == std::vector{next[1], MixtureStretch{274, {179, 95}, before}});
  // A stretch that was not reached is replaced.
  CHECK(continue_mixture(next[1], before, 150) == std::vector{MixtureStretch{210, {147, 63}, before}});
  CHECK_THROWS_WITH(continue_mixture(start, {1}, 10), Catch::Contains("2 sources, this loader has 1"));
}

}  // namespace
}  // namespace unstarve
