#include "unstarve/pipeline/order/draws.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <set>

#include "unstarve/core/error.h"
#include "unstarve/core/random.h"
#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/order/permutation.h"
#include "unstarve/pipeline/order/run_order.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {
namespace {

using Samples = std::vector<Sample>;

// The samples of an epoch for one rank, in one batch.
Samples drawn_epoch(const OrderSpec& spec, const OrderBasis& basis, std::uint32_t epoch) {
  const Order order(spec, {1, LastBatch::kKeep}, basis);
  const Order::Epoch samples = order.epoch(epoch);
  Samples all;
  for (std::uint64_t i = 0; i < order.batches_per_epoch(); ++i) all.push_back(samples.sample(i, 0));
  return all;
}

OrderBasis drawn_from(std::uint64_t records) { return {std::make_shared<SampleSet>(records), {}}; }

std::multiset<std::uint64_t> drawn_ids(const Samples& samples) {
  std::multiset<std::uint64_t> ids;
  for (const Sample& sample : samples) ids.insert(sample.id);
  return ids;
}

TEST_CASE("windows contain every record once, close to the records of its run") {
  for (const std::uint64_t size : {1ULL, 2ULL, 63ULL, 64ULL, 65ULL, 129ULL, 1000ULL, 4096ULL, 10'007ULL})
    for (const std::uint64_t window : {1ULL, 2ULL, 64ULL, 100ULL, 999ULL, 10'007ULL, 1'000'000ULL}) {
      const PermutationKeys keys(4, static_cast<std::uint32_t>(window));
      std::vector<bool> seen(size);
      std::set<std::uint64_t> runs;
      for (std::uint64_t position = 0; position < size; ++position) {
        if (position % window == 0) runs.clear();
        const std::uint64_t record = windowed(keys, size, window, position, 5);
        REQUIRE(record < size);
        REQUIRE_FALSE(seen[record]);
        seen[record] = true;
        runs.insert(record / kWindowRun);
        // Runs that overlap a window: those that fill it, one at each end, and the remainder.
        REQUIRE(runs.size() <= window / kWindowRun + 3);
      }
    }
}

TEST_CASE("windows shuffle runs and records differently in each epoch") {
  OrderSpec spec;
  spec.window = 500;
  const Samples a = drawn_epoch(spec, drawn_from(5000), 0), b = drawn_epoch(spec, drawn_from(5000), 1);
  int in_order = 0, equal = 0;
  for (std::size_t i = 1; i < a.size(); ++i) {
    in_order += a[i].id == a[i - 1].id + 1;
    equal += a[i].id == b[i].id;
  }
  // 10 positions are in order by chance (1 in 500); 40 would be ten standard deviations.
  CHECK(in_order < 40);
  CHECK(equal < 40);
}

TEST_CASE("repeat N equals N consecutive epochs") {
  for (const bool shuffle : {true, false})
    for (const std::uint64_t window : {0, 10}) {
      OrderSpec once, thrice;
      once.shuffle = thrice.shuffle = shuffle;
      once.window = thrice.window = shuffle ? window : 0;
      thrice.repeat = 3;
      Samples expected;
      for (std::uint32_t epoch = 6; epoch < 9; ++epoch) {
        const Samples one = drawn_epoch(once, drawn_from(41), epoch);
        expected.insert(expected.end(), one.begin(), one.end());
      }
      CHECK(drawn_epoch(thrice, drawn_from(41), 2) == expected);
    }
}

TEST_CASE("epochs of another length divide the same stream at other positions") {
  OrderSpec whole, cut;
  cut.epoch = 17;
  Samples stream, pieces;
  for (std::uint32_t epoch = 0; epoch < 17; ++epoch)
    for (const Sample& sample : drawn_epoch(whole, drawn_from(41), epoch)) stream.push_back(sample);
  for (std::uint32_t epoch = 0; epoch < 41; ++epoch)
    for (const Sample& sample : drawn_epoch(cut, drawn_from(41), epoch)) pieces.push_back(sample);
  CHECK(stream == pieces);
}

TEST_CASE("a plain epoch is the keyed permutation") {
  OrderSpec spec;
  spec.seed = 77;
  const Permutation permutation(1000, 77, 5);
  const Samples samples = drawn_epoch(spec, drawn_from(1000), 5);
  for (std::uint64_t i = 0; i < 1000; ++i) CHECK(samples[i] == Sample{permutation(i), 5});
  // A subset of records uses the permutation of its size.
  std::vector<std::uint32_t> odd(1000);
  for (std::uint32_t i = 0; i < 1000; ++i) odd[i] = 2 * i + 1;
  SampleIds odd_ids(2000);
  odd_ids.add(odd);
  const auto set =
      std::make_shared<SampleSet>(2000, odd_ids, std::vector<std::uint64_t>{0, 1000}, std::vector<double>{});
  const Samples some = drawn_epoch(spec, {set, {}}, 5);
  for (std::uint64_t i = 0; i < 1000; ++i) CHECK(some[i] == Sample{2 * permutation(i) + 1, 5});
}

// Two or more groups of random sizes with weights; some weights are 0.
std::shared_ptr<const SampleSet> random_groups(Random& random) {
  std::vector<std::uint64_t> begin{0};
  std::vector<double> weights;
  for (std::uint32_t groups = 2 + random.below(5); groups > 0; --groups) {
    begin.push_back(begin.back() + 1 + random.below(300));
    weights.push_back(random.below(6) == 0 ? 0 : random.uniform(0.05, 2));
  }
  weights[0] = 1;
  return std::make_shared<SampleSet>(begin, weights);
}

TEST_CASE("groups of a mixture are drawn pass by pass, across epochs and changes of weights") {
  Random random(9, 0, 0, 0);
  for (int round = 0; round < 12; ++round) {
    const auto set = random_groups(random);
    OrderSpec spec;
    spec.seed = random.bits();
    spec.window = random.below(2) == 0 ? 0 : 1 + random.below(200);
    const std::uint64_t length = Order(spec, {1, LastBatch::kKeep}, {set, {}}).length();
    CHECK(length == set->drawn());
    // The weights change once, at a random position.
    const MixtureStretch start{0, std::vector<std::uint64_t>(set->groups()), set->weights()};
    std::vector<double> other(set->groups(), 1.0);
    const std::uint64_t change = random.below(static_cast<std::uint32_t>(3 * length));
    const OrderBasis basis{set, continue_mixture(start, other, change)};
    std::set<std::pair<std::uint64_t, std::uint32_t>> seen;
    std::vector<std::map<std::uint32_t, std::uint64_t>> passes(set->groups());
    const auto epochs = static_cast<std::uint32_t>(10'000 / length + 1);
    std::uint64_t position = 0;
    for (std::uint32_t epoch = 0; epoch < epochs; ++epoch)
      for (const Sample& sample : drawn_epoch(spec, basis, epoch)) {
        REQUIRE(seen.insert({sample.id, sample.draw}).second);  // each augmentation once
        std::size_t group = 0;
        while (sample.id >= set->group_begin(group + 1)) ++group;
        ++passes[group][sample.draw];
        if (++position <= change) REQUIRE(set->weights()[group] > 0);
      }
    // Passes are consecutive: all are complete except those in a started block.
    for (std::size_t group = 0; group < set->groups(); ++group) {
      std::uint64_t broken = 0;
      for (const auto& [pass, samples] : passes[group]) {
        broken += set->group_size(group) - samples;
        REQUIRE(samples <= set->group_size(group));
      }
      // Samples missing from started passes belong to the last block and the last pass.
      const std::uint64_t last_block =
          basis.stretches.back().weights == other ? Mixture(other).block() : Mixture(set->weights()).block();
      CHECK(broken <= last_block + set->group_size(group));
    }
  }
}

TEST_CASE("shares of a mixture equal the weights") {
  const auto set = std::make_shared<SampleSet>(std::vector<std::uint64_t>{0, 30, 1000}, std::vector<double>{0.6, 0.4});
  OrderSpec spec;
  spec.epoch = 5005;  // blocks of 65
  std::uint64_t first = 0;
  for (const Sample& sample : drawn_epoch(spec, {set, {}}, 3)) first += sample.id < 30;
  CHECK(first == 3003);
}

TEST_CASE("any ranks and batch sizes get the same samples, and a resume is exact") {
  Random random(31, 0, 0, 0);
  for (int round = 0; round < 60; ++round) {
    OrderSpec spec;
    spec.seed = random.bits();
    spec.shuffle = true;
    if (random.below(2) == 0) spec.window = 1 + random.below(150);
    spec.repeat = 1 + random.below(3);
    if (random.below(3) == 0) spec.epoch = 1 + random.below(500);
    const OrderBasis basis =
        random.below(2) == 0 ? drawn_from(1 + random.below(400)) : OrderBasis{random_groups(random), {}};
    const std::uint32_t epoch = random.below(4);
    const Samples expected = drawn_epoch(spec, basis, epoch);
    spec.world = static_cast<int>(1 + random.below(9));  // also more ranks than samples
    const BatchSpec batch{static_cast<int>(1 + random.below(12)), LastBatch::kKeep};
    const std::uint64_t offset = random.below(static_cast<std::uint32_t>(expected.size()) + 1);
    std::vector<Samples> ranks;
    for (spec.rank = 0; spec.rank < spec.world; ++spec.rank) {
      const Order rest = Order(spec, batch, basis).remaining(offset);
      const Order::Epoch samples = rest.epoch(epoch);
      ranks.emplace_back();
      for (std::uint64_t b = 0; b < rest.batches_per_epoch(); ++b)
        for (std::uint64_t i = 0; i < rest.batch_samples(b); ++i) {
          // Access by batch and index, by position, and by enumeration agree.
          const Sample sample = samples.sample(b, i);
          REQUIRE(sample == expected[(rest.batch_position(b) + i) % expected.size()]);
          REQUIRE(samples.id_at(rest.rank_samples_before(b) + i) == sample.id);
          ranks.back().push_back(sample);
        }
      REQUIRE(ranks.back().size() == ranks.front().size());
    }
    std::multiset<std::uint64_t> seen;
    for (const Samples& rank : ranks) seen.merge(drawn_ids(rank));
    std::multiset<std::uint64_t> due =
        drawn_ids({expected.begin() + static_cast<std::ptrdiff_t>(offset), expected.end()});
    // A kept last batch is filled with the first samples of the epoch.
    for (std::size_t i = 0; due.size() < seen.size(); ++i) due.insert(expected[i % expected.size()].id);
    CHECK(seen == due);
  }
}

TEST_CASE("an epoch of a subset has the length of the subset") {
  SampleIds ids(100);
  ids.add(std::vector<std::uint32_t>{3, 50, 99});
  const auto set = std::make_shared<SampleSet>(100, ids, std::vector<std::uint64_t>{0, 3}, std::vector<double>{});
  CHECK(Order(OrderSpec{}, {1, LastBatch::kDrop}, {set, {}}).batches_per_epoch() == 3);
  CHECK(set->next(3) == 50);
  CHECK(set->next(99) == 3);
  const SampleSet grouped(std::vector<std::uint64_t>{0, 2, 5}, {1, 1});
  CHECK(grouped.next(1) == 0);
  CHECK(grouped.next(4) == 2);
  CHECK(set->fingerprint() != grouped.fingerprint());
  CHECK(SampleSet(100).fingerprint() != SampleSet(101).fingerprint());
  CHECK(SampleSet(100).fingerprint() == SampleSet(100).fingerprint());
}

TEST_CASE("invalid orders of draws are rejected") {
  OrderSpec spec;
  spec.repeat = std::uint64_t{1} << 61;
  CHECK_THROWS_WITH(Order(spec, {1, LastBatch::kDrop}, 100),
                    Catch::Contains("order.repeat") && Catch::Contains("2^62"));
  spec.repeat = 1;
  const auto set = std::make_shared<SampleSet>(std::vector<std::uint64_t>{0, 0, 5}, std::vector<double>{0, 1});
  CHECK(Order(spec, {1, LastBatch::kDrop}, {set, {}}).length() == 5);
  CHECK_THROWS_WITH(Order(spec, {1, LastBatch::kDrop}, {set, {{0, {0, 0}, {1, 1}}}}), Catch::Contains("no samples"));
  CHECK_THROWS_WITH(Order(spec, {1, LastBatch::kDrop}, {set, {{0, {0}, {1}}}}),
                    Catch::Contains("used 1 sources, this loader has 2"));
}

}  // namespace
}  // namespace unstarve
