// The reads of a resumed run: none of delivered samples, and for a filter those of selecting the samples again.
#include <catch2/catch.hpp>
#include <set>

#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/order/run_state.h"
#include "unstarve/pipeline/order/sample_set.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kRecords = 48;
constexpr int kBatch = 4;

// The reads of a run that resumes after `batches` batches, in one epoch; `chosen`: reads before its first batch.
struct Cost {
  std::uint64_t chosen = 0, read = 0, due = 0;
  std::multiset<std::uint64_t> ids;
};

Cost cost_after(const PipelineSpec& spec, int batches) {
  const auto data = std::make_shared<CountedSet>(kRecords);
  const auto device = open_device("cpu");
  Cost cost;
  std::string state;
  {
    const auto set = choose_samples(spec, *data, 2);
    Loader loader(spec, data, *device, {{}, 0, false, {set, {}}});
    for (int i = 0; i < batches; ++i) {
      const auto batch = loader.next();
      cost.ids.insert(batch->ids().begin(), batch->ids().end());
    }
    const RunState run(spec, set);
    state = run.text(loader.progress(), run.first_stretches());
  }
  data->reads = 0;
  const auto set = choose_samples(spec, *data, 2);
  cost.chosen = data->reads;
  const EpochPosition start = RunState(spec, set).start(std::vector{state}).at;
  Loader loader(spec, data, *device, {start, 1, false, {set, {}}});
  while (const auto batch = loader.next()) {
    cost.due += batch->samples();
    cost.ids.insert(batch->ids().begin(), batch->ids().end());
  }
  cost.read = data->reads - cost.chosen;
  return cost;
}

// By the plan: the first image, whose size is the input of the operations.
constexpr std::uint64_t kProbed = 1;

// At any resume position, `chosen` records are read to select the samples again, then the remaining ones, and each is
// delivered once.
void check_cost(const PipelineSpec& spec, std::uint64_t chosen) {
  for (const int batches : {1, 5, 11}) {
    const Cost cost = cost_after(spec, batches);
    CAPTURE(batches);
    CHECK(cost.chosen == chosen);
    CHECK(cost.due == kRecords - static_cast<std::uint64_t>(batches * kBatch));
    CHECK(cost.read <= cost.due + kProbed);
    CHECK(cost.ids.size() == kRecords);
    CHECK(std::set(cost.ids.begin(), cost.ids.end()).size() == kRecords);
  }
}

TEST_CASE("a resumed run reads the remaining samples and none of the delivered ones") {
  check_cost(small_spec(kBatch), 0);
}

TEST_CASE("a filter is evaluated again, once per record, for any resume position") {
  PipelineSpec spec = small_spec(kBatch);
  spec.source.filter.min_side = 1;
  check_cost(spec, kRecords);
}

TEST_CASE("buckets request sizes once, and a resumed run reads no sample of its window twice") {
  PipelineSpec spec = small_spec(kBatch);
  spec.operations = {};
  spec.batch.pad.to = PadTo::kLargest;
  spec.batch.bucket.window = 16;
  check_cost(spec, kRecords);
}

}  // namespace
}  // namespace unstarve
