#include "unstarve/pipeline/plan/execution.h"

#include <catch2/catch.hpp>
#include <memory>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/executor/loader_tune_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"

namespace unstarve {
namespace {

constexpr int kCores = 8;

// `change` applied to the execution of a small spec, on 8 cores.
template <class Change>
ExecutionPlan resolved(const Change& change, int reads = 0) {
  PipelineSpec spec = tuned_spec(7);
  change(spec);
  return plan_run(spec, std::make_shared<SleepyJpegSet>(20, std::chrono::microseconds(0), reads), {kCores}).execution;
}

TEST_CASE("threads are those requested, else the usable cores, or those that cpu_limit permits") {
  const auto threads = [](int requested, bool autotune, int cpu_limit) {
    const ExecutionPlan execution = resolved([&](PipelineSpec& spec) {
      spec.execution.threads = requested;
      spec.execution.autotune = autotune;
      spec.execution.cpu_limit = cpu_limit;
    });
    CHECK(execution.tuned == (requested == 0 && autotune));
    return execution.threads;
  };
  CHECK(threads(0, true, 0) == kCores);
  CHECK(threads(0, true, 3) == 3);
  CHECK(threads(0, true, 2 * kCores) == kCores);
  CHECK(threads(0, false, 3) == kCores);  // the limit is for autotuned threads
  CHECK(threads(5, true, 3) == 5);
}

TEST_CASE("a memory limit reduces the number of threads, unless it is requested") {
  const auto limited = [](int threads, std::uint64_t megabytes) {
    return resolved([&](PipelineSpec& spec) {
      spec.execution.threads = threads;
      spec.execution.memory_limit_mb = megabytes;
    });
  };
  const ExecutionPlan large = limited(0, 1000);
  CHECK(large.threads == kCores);
  CHECK(large.memory.limit == 1'000'000'000);
  const std::uint64_t worker = large.memory.worker, batches = 3 * large.memory.batch;
  const std::uint64_t for_three = (batches + 3 * worker) / 1'000'000 + 1;
  const ExecutionPlan small = limited(0, for_three);
  CHECK(small.threads >= 3);
  CHECK(small.threads < kCores);
  CHECK(small.memory.threads == small.threads);
  CHECK_THROWS_WITH(limited(kCores, for_three), Catch::Contains("memory_limit_mb"));
  CHECK_THROWS_WITH(limited(0, 1), Catch::Contains("memory_limit_mb"));
}

TEST_CASE("read-ahead is that requested, else what the data needs") {
  const auto reads = [](int requested, int useful) {
    return resolved([&](PipelineSpec& spec) { spec.execution.read_ahead = requested; }, useful);
  };
  CHECK(reads(-1, 0).read_ahead == 0);
  CHECK_THAT(reads(-1, 0).read_ahead_reason, Catch::Contains("nothing to gain"));
  CHECK(reads(-1, 16).read_ahead == 16);
  CHECK(reads(-1, 16).read_ahead_tuned);
  CHECK(reads(4, 16).read_ahead == 4);
  CHECK_FALSE(reads(4, 16).read_ahead_tuned);
  CHECK(reads(0, 16).read_ahead == 0);
  CHECK_THAT(reads(0, 16).read_ahead_reason, Catch::Contains("switched off by execution.read_ahead"));
}

TEST_CASE("a cache has the memory that is requested; under a memory limit it shares that") {
  const auto cached = [](std::uint64_t megabytes) {
    return resolved([&](PipelineSpec& spec) {
      spec.cache = {CacheWhat::kEncoded, "", 10};
      spec.execution.memory_limit_mb = megabytes;
    });
  };
  CHECK(cached(0).cache.bytes == 10'000'000);
  CHECK_FALSE(cached(0).cache.shared);
  CHECK(cached(1000).cache.shared);
  CHECK(cached(1000).cache.bytes + cached(1000).cache.table_bytes == 10'000'000);
  CHECK(resolved([](PipelineSpec&) {}).cache.bytes == 0);
}

}  // namespace
}  // namespace unstarve
