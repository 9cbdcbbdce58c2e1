// errors.policy skip for a batch without a good sample: the batch is left out, and the epoch still ends.
#include <catch2/catch.hpp>
#include <set>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/order/progress.h"

namespace unstarve {
namespace {

using Catch::Contains;

// All samples of batches 0, 3 and 9 of ten batches of two are bad, and half of batch 5.
const std::set<std::uint64_t> kBad{0, 1, 6, 7, 10, 18, 19};

PipelineSpec skipping_spec(int threads = 3) {
  PipelineSpec spec = small_spec(2, threads);
  spec.order.shuffle = false;
  spec.errors.policy = OnError::kSkip;
  return spec;
}

std::shared_ptr<const Dataset> some_bad() { return std::make_shared<JpegSet>(20, kBad); }

std::vector<std::uint64_t> batches_of(const std::vector<Seen>& seen) {
  std::vector<std::uint64_t> batches;
  for (const Seen& one : seen) batches.push_back(one.position.batch);
  return batches;
}

TEST_CASE("a batch without a good sample is left out of every epoch") {
  for (const int threads : {1, 4}) {
    const auto seen = run(skipping_spec(threads), some_bad(), {{}, 2});
    const std::vector<std::uint64_t> once{1, 2, 4, 5, 6, 7, 8};
    std::vector<std::uint64_t> twice = once;
    twice.insert(twice.end(), once.begin(), once.end());
    CHECK(batches_of(seen) == twice);
    CHECK(seen[3].ids == std::vector<std::uint64_t>{11});
  }
  PipelineSpec single = skipping_spec();
  single.batch.size = 1;
  CHECK(run(single, some_bad(), {{}, 1}).size() == 20 - kBad.size());
  PipelineSpec padded = skipping_spec();
  padded.batch.last = LastBatch::kPad;
  for (const Seen& one : run(padded, some_bad(), {{}, 1})) CHECK(one.ids.size() == 2);
}

TEST_CASE("the end of an epoch whose last batch is left out is delivered on request") {
  const auto device = open_device("cpu");
  Loader::Options options{{}, 2};
  options.epoch_ends = true;
  Loader loader(skipping_spec(), some_bad(), *device, options);
  std::vector<std::uint64_t> batches;
  std::size_t ends = 0;
  while (true) {
    while (!loader.wait(std::chrono::milliseconds(1))) {
    }
    const auto batch = loader.next();
    if (!batch) break;
    batches.push_back(batch->index());
    CHECK((batch->samples() == 0) == batch->last_of_epoch());
    if (batch->last_of_epoch()) ++ends;
  }
  CHECK(ends == 2);
  CHECK(batches == std::vector<std::uint64_t>{1, 2, 4, 5, 6, 7, 8, 9, 1, 2, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("a run resumes after any of its batches although some are left out, in both orders") {
  for (const ExecutionOrder order : {ExecutionOrder::kExact, ExecutionOrder::kRelaxed}) {
    PipelineSpec spec = skipping_spec();
    spec.execution.order = order;
    const auto device = open_device("cpu");
    for (int taken = 1; taken < 7; ++taken) {
      std::multiset<std::uint64_t> ids;
      Loader loader(spec, some_bad(), *device, {{}, 1});
      for (int i = 0; i < taken; ++i) {
        const auto batch = loader.next();
        if (!batch) break;  // in relaxed order bad samples may be distributed differently
        ids.insert(batch->ids().begin(), batch->ids().end());
      }
      const RankProgress progress = loader.progress();
      const EpochPosition at = position_after({&progress, 1}, spec.order, spec.batch, 20);
      if (at.epoch == 0)
        for (const Seen& one : run(spec, some_bad(), {at, 1})) ids.insert(one.ids.begin(), one.ids.end());
      std::multiset<std::uint64_t> good;
      for (std::uint64_t id = 0; id < 20; ++id)
        if (!kBad.contains(id)) good.insert(id);
      CHECK(ids == good);
    }
  }
}

TEST_CASE("a batch that other ranks have is not left out") {
  PipelineSpec spec = skipping_spec();
  spec.order.world = 2;
  spec.order.rank = 1;  // its first batch is 2 and 3
  const auto device = open_device("cpu");
  Loader loader(spec, some_bad(), *device, {{}, 1});
  CHECK(loader.next()->ids().front() == 2);
  CHECK_THROWS_WITH(loader.next(), Contains("epoch 0 batch 1") && Contains("each of 2 ranks") && Contains("file-6: ") &&
                                       Contains("errors: replace, or larger batches"));
}

TEST_CASE("an epoch without a good sample is an error and does not hang") {
  // Good while the plan is made.
  class DamagedSet final : public JpegSet {
   public:
    using JpegSet::JpegSet;
    void read(std::uint64_t id, RecordBuffer& record) const override {
      JpegSet::read(id, record);
      if (rotten) record.values[0].bytes = kJunk;
    }
    std::atomic<bool> rotten{false};
    const std::vector<std::uint8_t> kJunk = std::vector<std::uint8_t>(100, 7);
  };
  const auto failure = [](EpochPosition start) -> std::string {
    const auto data = std::make_shared<DamagedSet>(20);
    const auto device = open_device("cpu");
    PipelineSpec spec = skipping_spec();
    spec.execution.prefetch = 0;
    Loader loader(spec, data, *device, {start});
    data->rotten = true;
    try {
      return loader.next() ? "a batch" : "the end";
    } catch (const Error& error) {
      return error.what();
    }
  };
  CHECK_THAT(failure({}), Contains("every sample of epoch 0 is bad") && Contains("file-18: "));
  // The remainder of the first epoch is not a whole epoch.
  CHECK_THAT(failure({0, 4}), Contains("every sample of epoch 1 is bad"));
}

}  // namespace
}  // namespace unstarve
