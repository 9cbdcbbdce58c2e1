#include "unstarve/pipeline/executor/run_tuner.h"

#include <catch2/catch.hpp>
#include <limits>

#include "unstarve/pipeline/executor/executor_fixtures.h"
#include "unstarve/pipeline/executor/loader_tune_fixtures.h"

namespace unstarve {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

TEST_CASE("the tuner of a plan with fixed threads and reads is never due") {
  const auto dataset = std::make_shared<JpegSet>(40);
  CHECK(LoaderParts(small_spec(5, 2), dataset).tuner.periodic().due_ns == kNever);
  PipelineSpec spec = tuned_spec(5);
  CHECK(LoaderParts(spec, dataset).tuner.periodic().due_ns < kNever);
  spec.execution.autotune = false;
  CHECK(LoaderParts(spec, dataset).tuner.periodic().due_ns == kNever);
}

TEST_CASE("a profile counts what the workers made and the consumer received") {
  LoaderParts parts(small_spec(5, 2), std::make_shared<JpegSet>(40));
  parts.executor.start();
  CHECK(parts.take(3).size() == 15);
  const Profile profile = parts.tuner.profile();
  CHECK(profile.batches == 3);
  CHECK(profile.samples == 15);
  CHECK(profile.batch_samples == 5);
  CHECK(profile.batch_bytes == 5 * 3 * 48 * 48 * 4);
  CHECK(profile.loader_threads == 2);
  CHECK(profile.prefetch_batches == 2);
  CHECK(profile.read_ahead == 0);
  CHECK(profile.wall_ns > 0);
  CHECK(profile.tuning.empty());
}

TEST_CASE("the tuner decides when it is due and has enough samples, and applies the decision to the executor") {
  const auto dataset = std::make_shared<SleepyJpegSet>(40, std::chrono::milliseconds(5));
  LoaderParts parts(tuned_spec(5), dataset);
  PeriodicCall& periodic = parts.tuner.periodic();
  periodic.due_ns = kNever;  // the workers do not call
  const auto call = [&](std::int64_t due_ns) {
    periodic.due_ns = due_ns;
    periodic.call(steady_clock().now_ns());
  };
  call(0);  // no samples yet
  CHECK(parts.tuner.profile().tuning.empty());
  periodic.due_ns = kNever;
  parts.executor.start();
  CHECK(parts.take(8).size() == 40);
  call(kNever);  // not due
  CHECK(parts.tuner.profile().tuning.empty());
  const std::int64_t called_ns = steady_clock().now_ns();
  call(0);
  const Profile profile = parts.tuner.profile();
  REQUIRE_FALSE(profile.tuning.empty());
  CHECK(profile.tuning.front().threads == parts.run.execution.threads);
  CHECK(profile.tuning.back().threads == profile.loader_threads);
  CHECK(profile.tuning.back().prefetch == profile.prefetch_batches);
  CHECK(parts.executor.threads() == profile.loader_threads);
  CHECK(periodic.due_ns > called_ns);
}

}  // namespace
}  // namespace unstarve
