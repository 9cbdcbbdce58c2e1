#include "unstarve/pipeline/order/shares.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "unstarve/core/error.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/order/record_list.h"
#include "unstarve/pipeline/order/run_order.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

const std::vector<double> kWeights = {1, 0, 3, 0.5, 0, 2, 1e-3, 10};

double sum_of(const std::vector<double>& weights) {
  double sum = 0;
  for (const double weight : weights) sum += weight;
  return sum;
}

TEST_CASE("every sample occurs its share of a pass, rounded up or down") {
  const Shares shares(kWeights);
  for (const std::uint64_t draws : {1, 2, 7, 100, 12'345}) {
    std::vector<double> mean(kWeights.size());
    constexpr std::uint64_t kOffsets = 200;
    for (std::uint64_t k = 0; k < kOffsets; ++k) {
      const std::uint64_t offset = Shares::offsets(draws) / kOffsets * k;
      std::map<std::uint64_t, std::uint64_t> times;
      for (std::uint64_t strip = 0; strip < draws; ++strip) {
        const Shares::Draw draw = shares.at(strip, draws, offset);
        REQUIRE(draw.occurrence == times[draw.sample]++);
        REQUIRE(draw.occurrence < shares.most_occurrences(draws));
      }
      for (std::size_t i = 0; i < kWeights.size(); ++i) {
        const double share = static_cast<double>(draws) * kWeights[i] / sum_of(kWeights);
        REQUIRE(std::abs(static_cast<double>(times[i]) - share) < 1.001);
        mean[i] += static_cast<double>(times[i]) / static_cast<double>(kOffsets);
      }
    }
    for (std::size_t i = 0; i < kWeights.size(); ++i)
      CHECK(mean[i] == Approx(static_cast<double>(draws) * kWeights[i] / sum_of(kWeights)).margin(0.02));
    CHECK(mean[1] == 0);
    CHECK(mean[4] == 0);
  }
}

TEST_CASE("equal weights draw every sample once, and invalid weights are rejected") {
  const Shares shares(std::vector<double>(1000, 0.1));
  std::set<std::uint64_t> drawn;
  for (std::uint64_t strip = 0; strip < 1000; ++strip) drawn.insert(shares.at(strip, 1000, 1 << 20).sample);
  CHECK(drawn.size() == 1000);
  for (const std::vector<double>& wrong :
       {std::vector<double>{}, {0, 0}, {1, -1}, {1, std::nan("")}, {INFINITY}, {1e308, 1e308, 1e308}})
    CHECK_THROWS_AS(Shares(wrong), Error);
}

OrderSpec shuffled(std::uint64_t epoch) {
  OrderSpec order;
  order.seed = 7;
  order.epoch = epoch;
  return order;
}

std::shared_ptr<SampleSet> weighted() {
  auto set = std::make_shared<SampleSet>(kWeights.size());
  set->set_shares(Shares(kWeights));
  return set;
}

TEST_CASE("an epoch of weighted samples is the same for any ranks, and a sample never has the same draw twice") {
  const Order order(shuffled(60), {5}, OrderBasis{weighted(), {}});
  REQUIRE(order.batches_per_epoch() == 12);
  std::set<std::pair<std::uint64_t, std::uint32_t>> seen;
  for (std::uint32_t epoch = 0; epoch < 50; ++epoch) {
    std::vector<std::uint64_t> times(kWeights.size());
    const Order::Epoch samples = order.epoch(epoch);
    for (std::uint64_t at = 0; at < 60; ++at) {
      const Sample sample = samples.sample_at(at);
      ++times[sample.id];
      REQUIRE(seen.insert({sample.id, sample.draw}).second);
    }
    for (std::size_t i = 0; i < times.size(); ++i)
      CHECK(std::abs(static_cast<double>(times[i]) - 60 * kWeights[i] / sum_of(kWeights)) < 1.001);
  }
  OrderSpec half = shuffled(60);
  half.world = 2;
  std::multiset<std::uint64_t> one, two;
  for (std::uint64_t at = 0; at < 60; ++at) one.insert(order.epoch(3).id_at(at));
  for (half.rank = 0; half.rank < 2; ++half.rank) {
    const Order part(half, {5}, OrderBasis{weighted(), {}});
    for (std::uint64_t at = 0; at < 30; ++at) two.insert(part.epoch(3).id_at(at));
  }
  CHECK(one == two);
  // The rest of an epoch.
  const Order rest = order.remaining(20);
  for (std::uint64_t at = 0; at < 40; ++at) CHECK(rest.epoch(3).id_at(at) == order.epoch(3).id_at(at + 20));
}

TEST_CASE("weights are read from text and .npy, one per record") {
  const testing::TemporaryFolder folder;
  folder.write("w.txt", "1\n 0.5 \r\n\n1e3\n");
  CHECK(read_sample_weights(folder.str("w.txt"), 3) == std::vector<double>{1, 0.5, 1000});
  CHECK_THAT(testing::error_message([&] { return read_sample_weights(folder.str("w.txt"), 4); }),
             Catch::Contains("found 3 weights; expected 4"));
  folder.write("w.txt", "1\ntwo\n");
  CHECK_THAT(testing::error_message([&] { return read_sample_weights(folder.str("w.txt"), 2); }),
             Catch::Contains("w.txt line 2: found 'two'"));
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  std::string npy = "\x93NUMPY" + std::string("\1\0", 2);
  npy += static_cast<char>(header.size());
  npy += '\0';
  const float numbers[] = {0.25F, 8};
  npy += header + std::string(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  folder.write("w.npy", npy);
  CHECK(read_sample_weights(folder.str("w.npy"), 2) == std::vector<double>{0.25, 8});
  folder.write("w.npy", npy.replace(npy.find("(2,)"), 4, "(2,1"));
  CHECK_THROWS_AS(read_sample_weights(folder.str("w.npy"), 2), Error);
}

TEST_CASE("lists of records are ranges or bits") {
  using SampleList = std::vector<std::uint32_t>;
  CHECK(records_in("0-3,7,9-9", 10) == SampleList{0, 1, 2, 3, 7, 9});
  CHECK(records_in("bits:BQE=", 10) == SampleList{0, 2, 8});
  for (const char* const wrong : {"3-1", "1,1", "2,1", "10", "a", "1-", "bits:?", "bits://8="})
    CHECK_THROWS_AS(records_in(wrong, 10), Error);
}

TEST_CASE("subset and part select records before filter and take") {
  const auto data = open_dataset("synthetic:classes=4,images=100,size=16,seed=1");
  PipelineSpec spec;
  const auto ids = [&] {
    const auto set = choose_samples(spec, *data, 1);
    std::set<std::uint64_t> all;
    for (std::uint64_t i = 0; i < set->size(); ++i) all.insert(set->id(i));
    return all;
  };
  spec.source.subset = "5-9,50";
  spec.source.take = 3;
  CHECK(ids() == std::set<std::uint64_t>{5, 6, 7});
  spec.source.take.reset();
  spec.source.filter.labels = {"2"};
  for (const std::uint64_t id : ids()) CHECK(data->known_label(id).value_or(2) == 2);
  spec.source.filter = {};
  spec.source.subset = "0-49";
  std::set<std::uint64_t> both;
  std::size_t sum = 0;
  for (const auto& [from, to] : {std::pair{0, 40}, std::pair{40, 50}}) {
    spec.source.part = {static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to), 3};
    const auto part = ids();
    sum += part.size();
    both.insert(part.begin(), part.end());
  }
  CHECK(sum == 50);
  CHECK(both.size() == 50);
  CHECK(*both.rbegin() == 49);
  spec.source.part = {0, 51, 3};
  CHECK_THROWS_WITH(ids(), Catch::Contains("source.part.to: 51; expected at most the 50 records"));
}

}  // namespace
}  // namespace unstarve
