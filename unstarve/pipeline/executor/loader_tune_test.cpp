// A loader that is tuned during its run: threads and prefetch.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "unstarve/pipeline/executor/loader_tune_fixtures.h"
#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {
namespace {

using Catch::Matchers::Contains;

// At one time or another: the controller reverts an increase if other work takes the cores meanwhile.
int most_threads(const Profile& profile) { return std::ranges::max(profile.tuning, {}, &TuningStep::threads).threads; }

// 20 times what a sample costs one thread and the consumer at present, so that sleep dominates on every machine, also
// under a sanitizer and while other programs run.
std::chrono::microseconds long_sleep(PipelineSpec spec) {
  constexpr int kSamples = 120;
  spec.execution.threads = 1;
  const auto dataset = std::make_shared<SleepyJpegSet>(kSamples, std::chrono::microseconds(0));
  const auto start = std::chrono::steady_clock::now();
  run_loader(spec, dataset, 1);
  const auto sample = (std::chrono::steady_clock::now() - start) / kSamples;
  return std::chrono::duration_cast<std::chrono::microseconds>(
      std::clamp<std::chrono::nanoseconds>(20 * sample, std::chrono::milliseconds(20), std::chrono::milliseconds(500)));
}

TEST_CASE("samples that sleep get many threads and more prefetch, and no bit changes") {
  PipelineSpec spec = tuned_spec(8);
  const auto dataset = std::make_shared<SleepyJpegSet>(120, long_sleep(spec));
  const TunedRun tuned = run_loader(spec, dataset, 3);
  REQUIRE(tuned.profile.tuning.size() >= 2);
  CHECK(tuned.profile.tuning[0].seconds == 0);
  CHECK(tuned.profile.loader_threads == tuned.profile.tuning.back().threads);
  CHECK(most_threads(tuned.profile) > 8);
  CHECK(std::ranges::max(tuned.profile.tuning, {}, &TuningStep::prefetch).prefetch > 2);
  CHECK_THAT(tuned.explained, Contains("autotuned during the run"));
  CHECK_THAT(tuned.explained, Contains(tuned.profile.tuning.back().reason));

  spec.execution.threads = 9;
  const TunedRun fixed = run_loader(spec, dataset, 3);
  CHECK(fixed.seen == tuned.seen);
  CHECK(fixed.profile.tuning.empty());
  CHECK(fixed.profile.loader_threads == 9);
}

TEST_CASE("relaxed order is tuned too, with every sample once per epoch") {
  const auto dataset = std::make_shared<SleepyJpegSet>(120, std::chrono::milliseconds(5));
  PipelineSpec spec = tuned_spec(8);
  spec.execution.order = ExecutionOrder::kRelaxed;
  const TunedRun tuned = run_loader(spec, dataset, 3);
  CHECK(tuned.profile.tuning.size() >= 2);
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    std::set<std::uint64_t> ids;
    for (const Seen& seen : tuned.seen)
      if (seen.position.epoch == epoch) ids.insert(seen.ids.begin(), seen.ids.end());
    CHECK(ids.size() == 120);
  }
}

TEST_CASE("without autotuning nothing is tuned") {
  const auto dataset = std::make_shared<SleepyJpegSet>(40, std::chrono::milliseconds(2), 4);
  PipelineSpec spec = tuned_spec(4);
  spec.execution.autotune = false;
  const TunedRun run = run_loader(spec, dataset, 4);
  CHECK(run.profile.tuning.empty());
  CHECK(run.profile.prefetch_batches == 2);
  CHECK(run.profile.read_ahead == 4);
  CHECK_THAT(run.explained, !Contains("tuned"));
}

TEST_CASE("the profile separates computing from sleeping, and the consumer's work from its waits") {
  const auto dataset = std::make_shared<SleepyJpegSet>(60, std::chrono::milliseconds(5));
  PipelineSpec spec = small_spec(6, 3);
  const auto device = open_device("cpu");
  Loader loader(spec, dataset, *device, {{}, 1});
  while (const auto batch = loader.next()) std::this_thread::sleep_for(std::chrono::milliseconds(3));
  const Profile profile = loader.profile();
  CHECK(profile.batch_samples == 6);
  CHECK(profile.batch_bytes == 6 * 3 * 48 * 48 * 4);
  const StageProfile& read = profile.stages[0];
  CHECK(read.busy_ns >= 60 * 5'000'000LL);
  CHECK(read.cpu_ns < read.busy_ns / 2);
  CHECK(read.squares_us2 >= 60 * 25e6);
  const StageProfile& decode = profile.stages[1];
  CHECK(decode.cpu_ns > 0);
  CHECK(decode.cpu_ns <= decode.busy_ns);
  CHECK(profile.consumer.batches == 9);  // without the first batch, with which a consumer starts
  CHECK(profile.consumer.busy_ns >= 9 * 3'000'000LL);
  CHECK(profile.consumer.wait_ns > 0);
}

TEST_CASE("tuning follows a load that decreases and increases during a run", "[.long]") {
  const auto dataset = std::make_shared<SleepyJpegSet>(120, std::chrono::milliseconds(10));
  const auto device = open_device("cpu");
  Loader loader(tuned_spec(8), dataset, *device, {});
  // A step of 200 ms takes 40 samples/s of 10 ms: one or two threads. A consumer without work gets all threads.
  for (const auto& [step_ms, few] : {std::pair(0, false), std::pair(200, true), std::pair(0, false)}) {
    for (int batches = 0; few ? loader.threads() > 4 : loader.threads() <= 16; ++batches) {
      REQUIRE(batches < (few ? 200 : 20'000));
      REQUIRE(loader.next());
      std::this_thread::sleep_for(std::chrono::milliseconds(step_ms));
    }
    CHECK(loader.profile().tuning.back().threads == loader.threads());
  }
  CHECK(loader.profile().tuning.size() >= 4);
}

TEST_CASE("a tuned loader that ends early ends its threads") {
  const auto dataset = std::make_shared<SleepyJpegSet>(64, std::chrono::milliseconds(3));
  const auto device = open_device("cpu");
  for (int i = 0; i < 12; ++i) {
    Loader loader(tuned_spec(4), dataset, *device, {});
    for (int batches = 0; batches < 4 * i; ++batches) REQUIRE(loader.next());
    if (i % 2) loader.close();
  }
}

TEST_CASE("tuning stays within the memory limit; threads and prefetched batches share the remaining memory") {
  PipelineSpec spec = tuned_spec(8);
  const auto dataset = std::make_shared<SleepyJpegSet>(120, long_sleep(spec));
  spec.execution.memory_limit_mb = 24;
  const auto device = open_device("cpu");
  Loader loader(spec, dataset, *device, {{}, 4});
  const MemoryPlan& memory = loader.execution().memory;
  CHECK(memory.max_threads * memory.worker + memory.max_batches * memory.batch <= memory.limit);
  while (const auto batch = loader.next()) {
    std::uint64_t held = 0;
    for (const MemoryShare& share : loader.memory()) held += share.bytes;
    CHECK(held <= 24'000'000);
    CHECK(loader.threads() <= memory.max_threads);
  }
  CHECK(most_threads(loader.profile()) > loader.execution().threads);
}

}  // namespace
}  // namespace unstarve
