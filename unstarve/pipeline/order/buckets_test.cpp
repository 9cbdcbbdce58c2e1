#include "unstarve/pipeline/order/buckets.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "unstarve/core/random.h"
#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {
namespace {

// Photographs in portrait and landscape format, of many sizes.
std::vector<Size> photographs(std::size_t count, std::uint32_t seed) {
  Random random(seed, 0, 0, 0);
  std::vector<Size> sizes;
  for (std::size_t i = 0; i < count; ++i) {
    const int longer = static_cast<int>(200 + random.below(400)), shorter = longer * 2 / 3;
    sizes.push_back(random.below(2) == 0 ? Size{longer, shorter} : Size{shorter, longer});
  }
  return sizes;
}

// Pixels of padded batches divided by the pixels of their samples.
double waste(std::span<const Size> sizes, std::span<const std::uint32_t> order, std::size_t batch) {
  double padded = 0, real = 0;
  for (std::size_t first = 0; first < order.size(); first += batch) {
    Size largest;
    const std::size_t count = std::min(batch, order.size() - first);
    for (std::size_t i = first; i < first + count; ++i) {
      const Size size = sizes[order[i]];
      largest = {std::max(largest.width, size.width), std::max(largest.height, size.height)};
      real += double(size.width) * size.height;
    }
    padded += double(count) * largest.width * largest.height;
  }
  return padded / real;
}

TEST_CASE("grouping by size returns every index once, in ascending runs, for any sizes") {
  for (const std::size_t count : {0u, 1u, 7u, 8u, 9u, 100u, 1001u})
    for (const std::uint64_t run : {1ull, 8ull, 13ull, 2000ull})
      for (const bool same : {false, true}) {
        const auto sizes = same ? std::vector<Size>(count, Size{5, 4}) : photographs(count, 3);
        std::vector<std::uint32_t> order = group_by_size(sizes, run);
        CHECK(order == group_by_size(sizes, run));
        for (std::size_t first = 0; first < count; first += run)
          CHECK(std::is_sorted(order.begin() + std::ptrdiff_t(first),
                               order.begin() + std::ptrdiff_t(std::min<std::uint64_t>(count, first + run))));
        std::sort(order.begin(), order.end());
        REQUIRE(order.size() == count);
        for (std::size_t i = 0; i < count; ++i) REQUIRE(order[i] == i);
      }
}

TEST_CASE("groups of similar sizes need little padding") {
  const auto sizes = photographs(2048, 1);
  std::vector<std::uint32_t> as_stored(sizes.size());
  for (std::uint32_t i = 0; i < sizes.size(); ++i) as_stored[i] = i;
  CHECK(waste(sizes, as_stored, 32) > 2);
  CHECK(waste(sizes, group_by_size(sizes, 32), 32) < 1.15);
}

std::shared_ptr<SampleSet> sized(std::size_t count) {
  auto set = std::make_shared<SampleSet>(count);
  set->sizes = photographs(count, 7);
  return set;
}

std::vector<std::uint64_t> epoch_of(const Order& order, std::uint32_t number) {
  const Order::Epoch epoch = order.epoch(number);
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < order.samples_per_epoch(); ++i) ids.push_back(epoch.id_at(i));
  return ids;
}

TEST_CASE("each sample occurs once per epoch for any number of ranks, in a different arrangement every epoch") {
  constexpr std::size_t kSamples = 1000;
  for (const bool shuffle : {true, false})
    for (const int world : {1, 2, 3})
      for (const std::uint64_t window : {120ull, 500ull, 5000ull}) {
        OrderSpec spec;
        spec.shuffle = shuffle;
        spec.world = world;
        BatchSpec batch{10, LastBatch::kKeep, {PadTo::kLargest, {}, 0}, {window, 30}};
        std::multiset<std::uint64_t> seen;
        std::size_t fillers = 0;
        for (spec.rank = 0; spec.rank < world; ++spec.rank) {
          const Order order(spec, batch, {sized(kSamples), {}});
          const auto ids = epoch_of(order, 1);
          CHECK(ids == epoch_of(order, 1));
          CHECK((ids != epoch_of(order, 2)) == shuffle);
          std::size_t real = 0;
          for (std::uint64_t b = 0; b < order.batches_per_epoch(); ++b) real += order.real_samples(b);
          seen.insert(ids.begin(), ids.begin() + std::ptrdiff_t(real));
          fillers += ids.size() - real;
        }
        CHECK(fillers < std::size_t(world));
        CHECK(seen.size() == kSamples);
        CHECK(std::set(seen.begin(), seen.end()).size() == kSamples);
      }
}

TEST_CASE("ranks share an arrangement: their union equals the batches of one rank") {
  OrderSpec spec;
  const auto set = sized(960);
  const Order alone(spec, {32, LastBatch::kDrop, {PadTo::kLargest, {}, 0}, {320, 0}}, {set, {}});
  const auto expected = epoch_of(alone, 4);
  spec.world = 4;
  std::vector<std::uint64_t> together(expected.size());
  for (spec.rank = 0; spec.rank < 4; ++spec.rank) {
    const Order order(spec, {8, LastBatch::kDrop, {PadTo::kLargest, {}, 0}, {320, 0}}, {set, {}});
    const auto ids = epoch_of(order, 4);
    for (std::size_t i = 0; i < ids.size(); ++i) together[i / 8 * 32 + std::size_t(spec.rank) * 8 + i % 8] = ids[i];
  }
  CHECK(together == expected);
}

TEST_CASE("the remaining samples keep their order at any position") {
  const OrderSpec spec;
  const BatchSpec batch{10, LastBatch::kKeep, {PadTo::kLargest, {}, 0}, {200, 0}};
  const Order order(spec, batch, {sized(450), {}});
  const auto whole = epoch_of(order, 0);
  for (std::uint64_t used = 0; used < whole.size(); used += 70) {
    const auto remaining = epoch_of(order.remaining(used), 0);
    CHECK(remaining == std::vector(whole.begin() + std::ptrdiff_t(used), whole.end()));
  }
}

TEST_CASE("a resume arranges only the window in which it begins") {
  constexpr std::uint64_t kSamples = 1000, kWindow = 120;
  const auto set = sized(kSamples);
  const PermutationKeys keys(3, 0);
  for (const std::uint64_t begin : {0ULL, 119ULL, 120ULL, 777ULL, 999ULL}) {
    const Buckets resumed(kWindow, 30, true, set);
    Buckets::Window window;
    std::vector<std::uint64_t> requested;
    const auto id_at = [&](std::uint64_t position) {
      requested.push_back(position);
      return position;
    };
    for (std::uint64_t position = begin; position < kSamples; ++position) {
      (void)resumed.at({keys, 0, kSamples, id_at}, position, window);
      // Each sample of the windows so far was requested once.
      const std::uint64_t first = begin / kWindow * kWindow;
      const std::uint64_t end = std::min(kSamples, (position / kWindow + 1) * kWindow);
      REQUIRE(requested.size() == end - first);
    }
    CHECK(*std::min_element(requested.begin(), requested.end()) == begin / kWindow * kWindow);
  }
}

TEST_CASE("real samples of a padded last batch are counted over all ranks") {
  for (const int world : {1, 2, 4, 7})
    for (const std::uint64_t samples : {70ull, 71ull, 75ull, 99ull, 100ull}) {
      std::uint64_t real = 0, made = 0;
      OrderSpec spec;
      spec.world = world;
      for (spec.rank = 0; spec.rank < world; ++spec.rank) {
        const Order order(spec, {10, LastBatch::kPad}, samples);
        made = order.samples_per_epoch();
        for (std::uint64_t b = 0; b < order.batches_per_epoch(); ++b) real += order.real_samples(b);
      }
      CHECK(real == samples);
      CHECK(made * std::uint64_t(world) >= samples);
    }
}

}  // namespace
}  // namespace unstarve
