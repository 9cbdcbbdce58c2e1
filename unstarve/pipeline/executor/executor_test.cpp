#include "unstarve/pipeline/executor/executor.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <thread>

#include "unstarve/pipeline/executor/executor_fixtures.h"
#include "unstarve/pipeline/executor/loader_tune_fixtures.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kExecutedSamples = 40;
constexpr std::size_t kExecutedBatches = 8;

PipelineSpec executed_spec(int threads) { return small_spec(5, threads); }

bool is_every_sample(std::vector<std::uint64_t> ids) {
  std::sort(ids.begin(), ids.end());
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] != i) return false;
  return ids.size() == kExecutedSamples;
}

TEST_CASE("the threads of an executor make every batch of the run, then the consumer gets nothing") {
  const auto dataset = std::make_shared<CountedSet>(kExecutedSamples);
  for (const int threads : {1, 3}) {
    LoaderParts parts(executed_spec(threads), dataset);
    CHECK(parts.executor.started_threads() == 0);
    dataset->reads = 0;
    parts.executor.start();
    CHECK(parts.executor.started_threads() == threads);
    CHECK(parts.executor.threads() == threads);
    CHECK(is_every_sample(parts.take(kExecutedBatches)));
    CHECK(parts.delivery->take() == nullptr);
    CHECK(dataset->reads == kExecutedSamples);
    CHECK(parts.executor.counters().totals().stages[0].samples == kExecutedSamples);
  }
}

TEST_CASE("a closed executor wakes the consumer and starts no thread") {
  LoaderParts parts(executed_spec(1), std::make_shared<JpegSet>(kExecutedSamples));
  bool got_nothing = false;
  std::jthread consumer([&] { got_nothing = parts.delivery->take() == nullptr; });  // no thread makes a batch
  parts.executor.close();
  consumer.join();
  CHECK(got_nothing);
  CHECK(parts.executor.start_threads(3) == 0);
  CHECK_FALSE(parts.executor.begin_read_ahead(4));
}

TEST_CASE("threads are added and paused during a run") {
  LoaderParts parts(tuned_spec(5), std::make_shared<JpegSet>(kExecutedSamples), {.usable_cores = 1, .epochs = 1});
  parts.tuner.periodic().due_ns = std::numeric_limits<std::int64_t>::max();  // this test changes the threads
  parts.executor.start();
  CHECK(parts.executor.threads() == 1);
  std::vector<std::uint64_t> ids = parts.take(2);
  CHECK(parts.executor.start_threads(3) == 3);
  CHECK(parts.executor.start_threads(2) == 3);  // none is ended
  for (const int working : {3, 1}) {
    parts.executor.set_threads(working);
    CHECK(parts.executor.threads() == working);
    const auto more = parts.take(3);
    ids.insert(ids.end(), more.begin(), more.end());
  }
  CHECK(is_every_sample(ids));
}

TEST_CASE("read-ahead begins and ends during a run, and not after its last sample") {
  const auto dataset = std::make_shared<CountedSet>(kExecutedSamples);
  LoaderParts parts(executed_spec(2), dataset);
  dataset->reads = 0;
  CHECK(parts.executor.read_ahead() == nullptr);
  CHECK(parts.executor.begin_read_ahead(4));
  CHECK(parts.executor.read_ahead() != nullptr);
  parts.executor.start();
  std::vector<std::uint64_t> ids = parts.take(3);
  parts.executor.end_read_ahead();
  const auto more = parts.take(kExecutedBatches);
  ids.insert(ids.end(), more.begin(), more.end());
  CHECK(is_every_sample(ids));
  CHECK(dataset->reads >= kExecutedSamples);  // records that are read when read-ahead ends may be read again
  CHECK_FALSE(parts.executor.begin_read_ahead(4));
}

}  // namespace
}  // namespace unstarve
