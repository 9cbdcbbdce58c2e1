// Samples that cannot be decoded, with the policies fail, skip and replace, and the limits of their number.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"

namespace unstarve {
namespace {

TEST_CASE("the fail policy delivers the good batches, then throws an error with the location of the sample") {
  const auto dataset = std::make_shared<JpegSet>(40, std::set<std::uint64_t>{25});
  PipelineSpec spec = small_spec(8);
  spec.order.shuffle = false;
  const auto device = open_device("cpu");
  Loader loader(spec, dataset, *device, {{}, 1});
  for (int batch = 0; batch < 3; ++batch) CHECK(loader.next()->samples() == 8);
  CHECK_THROWS_WITH(loader.next(), Catch::Contains("file-25"));
  CHECK_FALSE(loader.next());
}

TEST_CASE("the skip policy shortens the batch and counts the sample") {
  const auto dataset = std::make_shared<JpegSet>(40, std::set<std::uint64_t>{0, 9, 15});
  PipelineSpec spec = small_spec(8);
  spec.order.shuffle = false;
  spec.errors.policy = OnError::kSkip;
  const auto device = open_device("cpu");
  Loader loader(spec, dataset, *device, {{}, 2});
  std::vector<std::size_t> counts;
  while (auto batch = loader.next()) {
    counts.push_back(batch->samples());
    CHECK(batch->pixel_bytes() == batch->samples() * 48 * 48 * 3 * 4);
    for (std::size_t i = 0; i < batch->samples(); ++i)
      CHECK(batch->labels()[i] == static_cast<std::int64_t>(batch->ids()[i]));
  }
  CHECK(counts == std::vector<std::size_t>{7, 6, 8, 8, 8, 7, 6, 8, 8, 8});
  CHECK(loader.bad_count() == 3);
  REQUIRE(loader.bad_samples().size() == 3);
  CHECK(loader.bad_samples()[1].location.file == "file-9");
  CHECK_THAT(loader.bad_samples()[1].reason, Catch::Contains("file-9: "));

  // The remaining samples have the pixels of a run without bad samples.
  PipelineSpec good = spec;
  good.errors.policy = OnError::kFail;
  const auto all = run(good, std::make_shared<JpegSet>(40), {{}, 1});
  const auto some = run(spec, dataset, {{}, 1});
  const std::size_t sample = 48 * 48 * 3 * 4;
  CHECK(std::memcmp(some[0].pixels.data(), all[0].pixels.data() + sample, 7 * sample) == 0);
}

TEST_CASE("a failure of the storage ends the run under any policy, and its sample is not bad") {
  class OutageSet final : public JpegSet {
   public:
    OutageSet() : JpegSet(40, {9}) {}
    void read(std::uint64_t id, RecordBuffer& record) const override {
      if (id >= 20) throw Error(ErrorKind::kIo, "read " + location(id) + ": connection refused");
      JpegSet::read(id, record);
    }
  };
  PipelineSpec spec = small_spec(8);
  spec.order.shuffle = false;
  spec.errors.policy = GENERATE(OnError::kSkip, OnError::kReplace);
  const auto device = open_device("cpu");
  Loader loader(spec, std::make_shared<OutageSet>(), *device, {{}, 1});
  CHECK(loader.next());
  CHECK(loader.next());
  CHECK_THROWS_WITH(loader.next(), Catch::Contains("connection refused"));
  REQUIRE(loader.bad_samples().size() == 1);
  CHECK(loader.bad_samples()[0].id == 9);
}

TEST_CASE("the replace policy takes the next good sample, for any number of threads") {
  const auto dataset = std::make_shared<JpegSet>(40, std::set<std::uint64_t>{8, 9, 39});
  PipelineSpec spec = small_spec(8, 1, 0);
  spec.errors.policy = OnError::kReplace;
  const auto expected = run(spec, dataset, {{}, 2});
  REQUIRE(expected.size() == 10);
  std::multiset<std::uint64_t> ids;
  for (std::size_t b = 0; b < 5; ++b) ids.insert(expected[b].ids.begin(), expected[b].ids.end());
  CHECK(ids.count(10) == 3);
  CHECK(ids.count(0) == 2);
  CHECK(ids.count(8) + ids.count(9) + ids.count(39) == 0);
  spec.execution = {7, 2, true};
  CHECK(run(spec, dataset, {{}, 2}) == expected);
}

TEST_CASE("more bad samples than the limit fail the run under any policy") {
  std::set<std::uint64_t> bad;
  for (std::uint64_t id = 0; id < 12; ++id) bad.insert(id);
  PipelineSpec spec = small_spec(10);
  spec.errors = {OnError::kSkip, 5};
  const auto dataset = std::make_shared<JpegSet>(40, bad);
  CHECK_THROWS_WITH(run(spec, dataset, {{}, 2}), Catch::Contains("6 bad samples, more than the limit of 5"));
  spec.errors.limit = 0;
  CHECK_THROWS_WITH(run(spec, dataset, {{}, 2}), Catch::Contains("1 bad sample, more than the limit of 0"));
}

TEST_CASE("more bad samples than the rate allows fail the run after a minimum number of samples") {
  std::set<std::uint64_t> bad;
  for (std::uint64_t id = 0; id < 3000; id += 20) bad.insert(id);  // 5 %
  const auto data = std::make_shared<JpegSet>(3000, bad);
  PipelineSpec spec = small_spec(10, 2);
  spec.errors = {OnError::kSkip, 100'000, 0.10};
  CHECK_NOTHROW(run(spec, data, {{}, 1}));
  spec.errors.rate = 0.02;
  CHECK_THROWS_WITH(run(spec, data, {{}, 1}), Catch::Contains("more than the limit of 2 %"));
  spec.errors.rate = 0;
  CHECK_THROWS_WITH(run(spec, data, {{}, 1}), Catch::Contains("errors.rate"));
}

TEST_CASE("the error for too many bad samples does not depend on the number of workers that find one") {
  // The reads of the first two samples, which are bad, end at the same time.
  class TogetherSet final : public JpegSet {
   public:
    TogetherSet() : JpegSet(8, {0, 1}) {}
    void read(std::uint64_t id, RecordBuffer& record) const override {
      if (id < 2) {
        const auto patience = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
        for (met_ |= 1 << id; met_ != 3 && std::chrono::steady_clock::now() < patience;) std::this_thread::yield();
      }
      JpegSet::read(id, record);
    }

   private:
    mutable std::atomic<int> met_{0};
  };
  PipelineSpec spec = small_spec(1, 2);
  spec.order.shuffle = false;
  spec.errors = {OnError::kSkip, 0};
  for (int round = 0; round < 20; ++round)
    CHECK_THROWS_WITH(run(spec, std::make_shared<TogetherSet>(), {{}, 1}), Catch::StartsWith("1 bad sample, "));
}

TEST_CASE("a dataset without a good sample is an error and does not hang") {
  std::set<std::uint64_t> bad;
  for (std::uint64_t id = 0; id < 10; ++id) bad.insert(id);
  PipelineSpec spec = small_spec(5);
  spec.errors.policy = OnError::kReplace;
  CHECK_THROWS_WITH(run(spec, std::make_shared<JpegSet>(10, bad), {{}, 1}), Catch::Contains("none of the first 10"));
}

}  // namespace
}  // namespace unstarve
