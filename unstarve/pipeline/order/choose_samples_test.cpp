#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/spec/check_spec.h"
#include "unstarve/storage/dataset/concatenated.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

using Catch::Matchers::Contains;

std::vector<std::uint64_t> ids_of(const SampleSet& set) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t position = 0; position < set.size(); ++position) ids.push_back(set.id(position));
  return ids;
}

// Images of different sizes, labels equal to ids; both are known only after reading the records.
std::shared_ptr<const JpegSet> jpegs(std::uint64_t count, std::set<std::uint64_t> bad = {}) {
  return std::make_shared<JpegSet>(count, std::move(bad), count);
}

TEST_CASE("without filter, take, mix and balance all samples are selected without a list") {
  const auto set = choose_samples(small_spec(4), *jpegs(10), 2);
  CHECK(set->everything());
  CHECK(set->size() == 10);
  CHECK(set->weights().empty());
}

TEST_CASE("labels are included and excluded by name or number") {
  PipelineSpec spec = small_spec(1);
  const auto data = jpegs(12);
  spec.source.filter.labels = {"class 3", "7", "class 11"};
  CHECK(ids_of(*choose_samples(spec, *data, 2)) == std::vector<std::uint64_t>{3, 7, 11});
  spec.source.filter.drop_labels = {"class 7"};
  CHECK(ids_of(*choose_samples(spec, *data, 2)) == std::vector<std::uint64_t>{3, 11});
  spec.source.take = 1;
  CHECK(ids_of(*choose_samples(spec, *data, 2)) == std::vector<std::uint64_t>{3});
  spec.source.filter.labels = {"clas 3"};
  CHECK_THROWS_WITH(choose_samples(spec, *data, 2), Contains("source.filter.labels: found \"clas 3\"") &&
                                                        Contains("one of 12 classes: class 0, class 1"));
  spec.source.filter.labels = {"12"};
  CHECK_THROWS_WITH(choose_samples(spec, *data, 2), Contains("found \"12\""));
  spec.source.filter = {{}, {}, 9, 8, 0};
  CHECK_THROWS_WITH(choose_samples(spec, *data, 2), Contains("source.filter.min_side: 9 is above max_side 8"));
  spec.source.filter = {{}, {}, 0, 0, 0.5};
  CHECK_THROWS_WITH(choose_samples(spec, *data, 2), Contains("source.filter.max_aspect: 0.5; expected 1"));
  spec.source.filter = {{"5"}, {"5"}, 0, 0, 0};
  CHECK_THROWS_WITH(choose_samples(spec, *data, 2), Contains("source: the filter selects none of 12 samples"));
}

TEST_CASE("header sizes are compared with the limits, and unreadable records pass") {
  const auto data = jpegs(40, {5});
  std::vector<Size> sizes;
  Decoder decoder;
  RecordBuffer record;
  for (std::uint64_t id = 0; id < 40; ++id) {
    data->read(id, record);
    sizes.push_back(id == 5 ? Size{} : decoder.open(record.values[0].bytes).size);
  }
  const auto passing = [&](const FilterSpec& filter) {
    PipelineSpec spec = small_spec(1);
    spec.source.filter = filter;
    const auto set = choose_samples(spec, *data, 3);
    CHECK(set->notes.size() == 1);
    return ids_of(*set);
  };
  const auto expected = [&](auto&& passes) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t id = 0; id < 40; ++id)
      if (id == 5 || passes(std::min(sizes[id].width, sizes[id].height), std::max(sizes[id].width, sizes[id].height)))
        ids.push_back(id);
    CHECK(ids.size() > 3);
    CHECK(ids.size() < 40);
    return ids;
  };
  CHECK(passing({{}, {}, 70, 0, 0}) == expected([](int shorter, int) { return shorter >= 70; }));
  CHECK(passing({{}, {}, 0, 100, 0}) == expected([](int, int longer) { return longer <= 100; }));
  CHECK(passing({{}, {}, 0, 0, 1.25}) == expected([](int shorter, int longer) { return longer <= 1.25 * shorter; }));
}

// Reading a record takes one millisecond.
class SlowSet final : public JpegSet {
 public:
  using JpegSet::JpegSet;
  std::uint64_t size() const override { return 60'000; }
  void read(std::uint64_t id, RecordBuffer& record) const override {
    reads.fetch_add(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    JpegSet::read(id % 4, record);
  }
  mutable std::atomic<int> reads{0};
};

TEST_CASE("check is called while samples are selected, and can cancel the selection") {
  const SlowSet data(4);
  PipelineSpec filtered = small_spec(1), padded = small_spec(1);
  filtered.source.filter.min_side = 1;
  padded.operations = {};
  padded.batch.pad.to = PadTo::kLargest;
  for (const PipelineSpec& spec : {filtered, padded}) {
    data.reads = 0;
    int tested = 0;
    const auto check = [&] {
      if (++tested == 2) throw std::runtime_error("enough");
    };
    CHECK_THROWS_WITH(choose_samples(spec, data, 2, {}, check), "enough");
    CHECK(tested == 2);
    CHECK(data.reads > 0);
    CHECK(data.reads < 60'000);
  }
}

TEST_CASE("take reads no more records than necessary") {
  // Larger than one chunk of the filter.
  const auto data = open_dataset("synthetic:classes=4,images=20000,size=8");
  PipelineSpec spec = small_spec(1);
  spec.source.filter = {{"1"}, {}, 4, 0, 0};
  spec.source.take = 30;
  const auto set = choose_samples(spec, *data, 2);
  CHECK(set->size() == 30);
  CHECK(set->id(29) == 29 * 4 + 1);
  CHECK(set->notes ==
        std::vector<std::string>{"source: filtered 2048 images by size before the run, 2048 records read"});
  spec.source = {};
  spec.source.take = 1'000'000;
  CHECK(choose_samples(spec, *data, 2)->size() == 20'000);
}

// More records than a list of 32-bit ids supports.
class EndlessSet final : public JpegSet {
 public:
  using JpegSet::JpegSet;
  std::uint64_t size() const override { return std::uint64_t{1} << 60; }
  void read(std::uint64_t id, RecordBuffer& record) const override { JpegSet::read(id % 4, record); }
};

TEST_CASE("take needs no list for any number of records") {
  const auto data = std::make_shared<EndlessSet>(4);
  constexpr std::uint64_t kTaken = std::uint64_t{1} << 50;
  PipelineSpec spec = small_spec(4);
  spec.source.take = kTaken;
  const auto set = choose_samples(spec, *data, 2);
  CHECK(set->size() == kTaken);
  CHECK_FALSE(set->everything());
  CHECK(set->ids().runs() == std::vector<SampleIds::Run>{{0, kTaken}});
  CHECK(set->next(kTaken - 1) == 0);
  const Order order(spec.order, spec.batch, {set, {}});
  CHECK(order.length() == kTaken);
  std::uint64_t largest = 0;
  for (std::uint64_t batch = 0; batch < 100; ++batch) largest = std::max(largest, order.epoch(0).sample(batch, 0).id);
  CHECK(largest < kTaken);
  CHECK(largest > kTaken / 2);
  const auto device = open_device("cpu");
  CHECK(Loader(spec, data, *device, {}).next().has_value());

  spec.source.filter.min_side = 1;
  CHECK_THROWS_WITH(choose_samples(spec, *data, 2), Contains("source.filter: supports at most 2^32 records, found"));
  spec.source.filter = {};
  spec.order.balance = true;
  CHECK_THROWS_WITH(choose_samples(spec, *data, 2), Contains("order.balance: supports at most 2^32 records"));
}

TEST_CASE("balance includes only classes with samples, or uses weights by name") {
  const auto data = open_dataset("synthetic:classes=4,images=102,size=8");
  PipelineSpec spec = small_spec(1);
  spec.order.balance = true;
  auto set = choose_samples(spec, *data, 2);
  REQUIRE(set->groups() == 4);
  CHECK(set->group_size(0) == 26);
  CHECK(set->group_size(3) == 25);
  for (std::size_t group = 0; group < 4; ++group)
    for (std::uint64_t position = 0; position < set->group_size(group); ++position)
      CHECK(set->id(set->group_begin(group) + position) == position * 4 + group);
  spec.source.filter.drop_labels = {"2"};
  set = choose_samples(spec, *data, 2);
  CHECK(set->weights() == std::vector<double>{1, 1, 0, 1});
  CHECK(set->notes == std::vector<std::string>{"order.balance: 1 classes without samples are dropped"});
  spec.order.class_weights = {{data->classes()[1], 3}, {"0", 0}};
  CHECK(choose_samples(spec, *data, 2)->weights() == std::vector<double>{0, 3, 0, 1});
  spec.order.class_weights = {{"2", 1}};
  CHECK_THROWS_WITH(choose_samples(spec, *data, 2), Contains("order.class_weights.2: found a class without samples"));
  spec.order.class_weights = {{"0", 0}, {"1", 0}, {"3", 0}};
  CHECK_THROWS_WITH(choose_samples(spec, *data, 2), Contains("order.class_weights: all weights are 0"));
}

TEST_CASE("balanced batches contain every class equally often, each sample augmented differently each time") {
  const auto data = open_dataset("synthetic:classes=4,images=103,size=32");
  PipelineSpec spec = small_spec(10);
  spec.operations = training_operations(32, {32, 32});
  spec.order.balance = true;
  spec.order.epoch = 1280;
  std::map<std::int64_t, int> counts;
  std::set<std::string> pixels;
  const auto seen = run(spec, data, {{}, 1});
  for (const Seen& batch : seen) {
    const std::size_t sample = batch.pixels.size() / batch.labels.size();
    for (std::size_t i = 0; i < batch.labels.size(); ++i) {
      ++counts[batch.labels[i]];
      if (batch.ids[i] == 7) pixels.emplace(reinterpret_cast<const char*>(batch.pixels.data()) + i * sample, sample);
    }
  }
  CHECK(counts == std::map<std::int64_t, int>{{0, 320}, {1, 320}, {2, 320}, {3, 320}});
  CHECK(pixels.size() > 5);  // the sample occurs a dozen times; some crops may be equal
  spec.execution = {1, 0, false};
  CHECK(run(spec, data, {{}, 1}) == seen);
  CHECK(run(spec, data, {{0, 40}, 1}) == std::vector<Seen>(seen.begin() + 40, seen.end()));
}

TEST_CASE("sources of a mixture keep their filters and shares") {
  PipelineSpec spec = small_spec(10);
  spec.operations.clear();
  spec.mix = {{.path = "synthetic:classes=3,images=40,size=8,seed=1", .split = "", .weight = 0.75},
              {.path = "synthetic:classes=3,images=60,size=8,seed=2", .split = "", .take = 5, .weight = 0.25}};
  spec.mix[0].filter.labels = {"1"};
  const auto data = open_sources(spec);
  CHECK(data->size() == 100);
  spec.order.epoch = 1280;
  std::map<std::uint64_t, int> counts;
  for (const Seen& batch : run(spec, data, {{}, 1}))
    for (const std::uint64_t id : batch.ids) ++counts[id];
  int first = 0;
  for (std::uint64_t id = 1; id < 40; id += 3) first += counts[id];
  CHECK(first == 960);
  for (std::uint64_t id = 40; id < 45; ++id) CHECK(counts[id] == 64);
  CHECK(counts.size() == 13 + 5);
  CHECK_THAT(explain(plan_run(spec, data, {2})),
             Contains("18 of 100 selected") && Contains("48 of each 64 from synthetic:"));
  spec.mix.pop_back();
  CHECK_THROWS_WITH(plan_run(spec, data, {2}), Contains("mix: 1 sources, but the dataset was concatenated from 2"));
}

TEST_CASE("a bad sample is replaced by a selected sample") {
  PipelineSpec spec = small_spec(5);
  spec.errors.policy = OnError::kReplace;
  spec.source.filter.labels = {"3", "8", "11", "12", "19"};
  for (const Seen& batch : run(spec, jpegs(20, {8, 19}), {{}, 3}))
    CHECK(std::multiset<std::uint64_t>(batch.ids.begin(), batch.ids.end()) ==
          std::multiset<std::uint64_t>{3, 3, 11, 11, 12});
}

TEST_CASE("invalid settings of source, mix and order are rejected with their node") {
  const auto wrong = [](auto&& change) {
    PipelineSpec spec = small_spec(1);
    change(spec);
    try {
      check_spec(spec);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const auto two = [](PipelineSpec& s) {
    s.mix = {{.path = "a", .split = "", .weight = 1.0}, {.path = "b", .split = "", .weight = 1.0}};
  };
  CHECK_THAT(wrong([](auto& s) { s.source.take = 0; }), Contains("source.take: 0; expected 1 or more"));
  CHECK_THAT(wrong([](auto& s) { s.source.filter.min_side = -3; }), Contains("source.filter.min_side: -3"));
  CHECK_THAT(wrong([](auto& s) { s.source.filter.max_aspect = -0.5; }), Contains("source.filter.max_aspect: -0.5"));
  CHECK_THAT(wrong([](auto& s) { s.source.filter.max_aspect = std::nan(""); }), Contains("max_aspect: nan"));
  CHECK_THAT(wrong([](auto& s) { s.source.weight = 1; }), Contains("source.weight"));
  CHECK_THAT(wrong([](auto& s) { s.order.repeat = 0; }), Contains("order.repeat: 0; expected 1 or more"));
  CHECK_THAT(wrong([](auto& s) { s.order = {false, 0, 0, 1, 5}; }), Contains("order.window"));
  CHECK_THAT(wrong([](auto& s) { s.order.class_weights = {{"a", 1}}; }), Contains("order.class_weights"));
  CHECK_THAT(wrong([](auto& s) {
               s.order.balance = true;
               s.order.class_weights = {{"a", std::nan("")}};
             }),
             Contains("order.class_weights.a: nan; expected 0 or more"));
  CHECK_THAT(wrong([](auto& s) {
               s.order.balance = true;
               s.order.shuffle = false;
             }),
             Contains("order.balance"));
  CHECK(wrong(two) == "nothing");
  const auto mixed = [&](auto&& change) {
    return wrong([&](PipelineSpec& s) {
      two(s);
      change(s);
    });
  };
  CHECK_THAT(mixed([](auto& s) { s.mix[1].weight = -1; }), Contains("mix[1].weight: -1; expected 0 or more"));
  CHECK_THAT(mixed([](auto& s) { s.mix[0].weight = std::nan(""); }), Contains("mix[0].weight: nan"));
  CHECK_THAT(mixed([](auto& s) { s.mix[1].weight.reset(); }), Contains("mix[1].weight: only some sources have"));
  CHECK_THAT(mixed([](auto& s) { s.mix[0].weight = s.mix[1].weight = 0; }), Contains("mix: all weights are 0"));
  CHECK_THAT(mixed([](auto& s) { s.mix[1].take = 0; }), Contains("mix[1].take"));
  CHECK_THAT(mixed([](auto& s) { s.source.path = "c"; }), Contains("source: found together with mix"));
  CHECK_THAT(mixed([](auto& s) { s.order.balance = true; }),
             Contains("order.balance: true together with weights of mix"));
  CHECK_THAT(mixed([](auto& s) { s.order.shuffle = false; }), Contains("order.shuffle"));
}

TEST_CASE("a user-defined predicate runs after the filter and before take") {
  PipelineSpec spec = small_spec(1);
  const auto data = jpegs(12);
  std::vector<std::uint32_t> tested;
  const std::vector<SamplePredicate> even{{"even", [&](std::vector<std::uint32_t>& ids) {
                                             tested.insert(tested.end(), ids.begin(), ids.end());
                                             std::erase_if(ids, [](std::uint32_t id) { return id % 2 != 0; });
                                           }}};
  spec.source.filter.drop_labels = {"2"};
  spec.source.take = 3;
  const auto set = choose_samples(spec, *data, 2, even);
  CHECK(ids_of(*set) == std::vector<std::uint64_t>{0, 4, 6});
  CHECK(tested == std::vector<std::uint32_t>{0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  REQUIRE(!set->notes.empty());
  CHECK_THAT(set->notes[0], Contains("source: even selects 3 of 11 samples, evaluated once before the run"));
  spec.source = {};
  CHECK(ids_of(*choose_samples(spec, *data, 2, even)) == std::vector<std::uint64_t>{0, 2, 4, 6, 8, 10});
  CHECK(choose_samples(spec, *data, 2, std::vector<SamplePredicate>(1))->everything());
  CHECK_THROWS_WITH(choose_samples(spec, *data, 2, std::vector<SamplePredicate>(2)), Contains("2 predicates for 1"));
}

TEST_CASE("more ranks than samples, with and without the last batch") {
  const auto data = jpegs(10);
  PipelineSpec spec = small_spec(1);
  spec.source.take = 2;
  spec.order.world = 5;
  CHECK_THROWS_WITH(plan_run(spec, data, {1}), Contains("no full batch: 2 samples"));
  spec.batch.last = LastBatch::kKeep;
  std::multiset<std::uint64_t> ids;
  for (spec.order.rank = 0; spec.order.rank < 5; ++spec.order.rank)
    for (const Seen& batch : run(spec, data, {{}, 1})) ids.insert(batch.ids.begin(), batch.ids.end());
  CHECK(ids.size() == 5);
  CHECK(std::set(ids.begin(), ids.end()) == std::set<std::uint64_t>{0, 1});
}

}  // namespace
}  // namespace unstarve
