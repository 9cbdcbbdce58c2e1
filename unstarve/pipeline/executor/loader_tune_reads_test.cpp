// A loader that is tuned during its run: whether it uses read-ahead, and for how many records.
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "unstarve/core/machine/thread_time.h"
#include "unstarve/core/memory/sanitizers.h"
#include "unstarve/pipeline/executor/loader_tune_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/order/progress.h"
#include "unstarve/pipeline/order/run_order.h"

namespace unstarve {
namespace {

using Catch::Matchers::Contains, Catch::Matchers::Equals;

constexpr std::size_t kAhead = 4;  // the index of the stage, after the four of the workers

TEST_CASE("reads in flight are tuned if the data benefits from them, and no bit changes") {
  const auto dataset = std::make_shared<SleepyJpegSet>(200, std::chrono::milliseconds(2), 32);
  PipelineSpec spec = tuned_spec(8);
  const TunedRun tuned = run_loader(spec, dataset, 4);
  // Whether fewer reads suffice depends on the speed of the machine; see choose_test.cpp and recorded_test.cpp.
  REQUIRE_FALSE(tuned.profile.tuning.empty());
  CHECK(tuned.profile.tuning[0].read_ahead == 32);
  const auto ahead = std::find_if(tuned.profile.stages.begin(), tuned.profile.stages.end(),
                                  [](const StageProfile& stage) { return stage.name == "read_ahead"; });
  REQUIRE(ahead != tuned.profile.stages.end());
  CHECK(ahead->samples == 800);
  CHECK(ahead->busy_ns >= 800 * 2'000'000LL);
  CHECK(ahead->bytes > 0);
  spec.execution.threads = 2;
  CHECK(run_loader(spec, dataset, 4).seen == tuned.seen);
}

// At the start read-ahead does not help, and every read waits; concurrent reads wait at the same time.
class ColdLaterSet final : public JpegSet {
 public:
  using JpegSet::JpegSet;
  int most_reads_in_flight() const override { return 64; }
  void read(std::uint64_t id, RecordBuffer& record) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    JpegSet::read(id, record);
  }
  void read_many(std::span<const std::uint64_t> ids, std::span<RecordBuffer> records) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    for (std::size_t i = 0; i < ids.size(); ++i) JpegSet::read(ids[i], records[i]);
  }
};

TEST_CASE("read-ahead starts during a run whose reads wait, and no bit changes") {
  const auto dataset = std::make_shared<ColdLaterSet>(200, std::set<std::uint64_t>{7, 50});
  const auto device = open_device("cpu");
  PipelineSpec spec = tuned_spec(8);
  spec.errors.policy = OnError::kSkip;
  std::vector<Seen> tuned;
  {
    Loader loader(spec, dataset, *device, {});
    CHECK_THAT(loader.explain(), Contains("starts during the run if workers wait for reads"));
    // A step of 40 ms needs six reads of 30 ms in flight: six threads, or readers and one thread.
    std::size_t further = 0;
    while (further < 30 || tuned.size() < 52) {  // two epochs of bad samples included
      tuned.push_back(see(*loader.next()));
      std::this_thread::sleep_for(std::chrono::milliseconds(further == 0 ? 40 : 0));
      REQUIRE(tuned.size() < 500);
      if (loader.profile().read_ahead > 0) ++further;
    }
    const Profile profile = loader.profile();
    CHECK(profile.tuning.front().read_ahead == 0);
    const StageProfile& ahead = profile.stages[kAhead];
    CHECK(ahead.name == "read_ahead");
    CHECK(ahead.samples > 0);
    CHECK_THAT(loader.explain(), Contains("read-ahead starts: worker threads wait"));
    CHECK(loader.bad_count() == 2);
  }
  spec.execution.threads = 40;
  Loader loader(spec, dataset, *device, {});
  for (const Seen& seen : tuned) CHECK(see(*loader.next()) == seen);
}

// Its reads wait only while `cold`; it then reports the useful number of reads in flight immediately.
class WarmLaterSet final : public JpegSet {
 public:
  using JpegSet::JpegSet;
  int reads_in_flight() const override { return 16; }
  int most_reads_in_flight() const override { return 16; }
  void read(std::uint64_t id, RecordBuffer& record) const override {
    if (cold) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    JpegSet::read(id, record);
  }
  std::atomic<bool> cold{true};
};

TEST_CASE("read-ahead stops if the data is in memory, starts again if it is not, and no bit changes") {
  if (!thread_sleeps()) {
    WARN("SKIPPED, this kernel does not count how often a thread sleeps");
    return;
  }
  const auto dataset = std::make_shared<WarmLaterSet>(200, std::set<std::uint64_t>{7, 50});
  const auto device = open_device("cpu");
  PipelineSpec spec = small_spec(8, 2);  // a fixed number, so that more threads do not replace read-ahead
  spec.errors.policy = OnError::kSkip;
  std::vector<Seen> tuned;
  RankProgress state;  // taken while read-ahead was stopped, before batch `at`
  std::size_t at = 0;
  {
    Loader loader(spec, dataset, *device, {});
    const auto run_until = [&](bool ahead) {
      for (int batches = 0; (loader.profile().read_ahead > 0) != ahead; ++batches) {
        INFO(loader.explain());
        REQUIRE(batches < 200'000);
        tuned.push_back(see(*loader.next()));
      }
    };
    const auto run = [&](int batches) {
      while (batches-- > 0) tuned.push_back(see(*loader.next()));
    };
    run(5);
    CHECK(loader.profile().read_ahead > 0);
    dataset->cold = false;
    run_until(false);
    CHECK_THAT(loader.explain(), Contains("read-ahead stops: readers wait only"));
    state = loader.progress();
    at = tuned.size();
    run(30);
    dataset->cold = true;
    run_until(true);
    CHECK_THAT(loader.explain(), Contains("read-ahead starts: worker threads wait"));
    run(30);
    CHECK(loader.bad_count() == 2);
  }
  spec.execution.threads = 3;
  spec.execution.autotune = false;
  spec.execution.read_ahead = 0;
  dataset->cold = false;
  Loader plain(spec, dataset, *device, {});
  for (const Seen& seen : tuned) REQUIRE(see(*plain.next()) == seen);
  const EpochPosition start = position_after(std::array{state}, spec.order, spec.batch, dataset->size());
  Loader resumed(spec, dataset, *device, {start});
  for (; at < tuned.size(); ++at) {
    const Seen seen = see(*resumed.next());
    REQUIRE(seen.ids == tuned[at].ids);
    REQUIRE(seen.pixels == tuned[at].pixels);
  }
}

// Reads that compute.
class BusyJpegSet final : public JpegSet {
 public:
  using JpegSet::JpegSet;
  int most_reads_in_flight() const override { return 64; }
  void read(std::uint64_t id, RecordBuffer& record) const override {
    const std::int64_t end = thread_cpu_ns() + 500'000;
    while (thread_cpu_ns() < end) continue;
    JpegSet::read(id, record);
  }
};

// Restricts the calling thread, and threads that it starts, to one CPU.
class OneProcessor {
 public:
  OneProcessor() {
    REQUIRE(::sched_getaffinity(0, sizeof(before_), &before_) == 0);  // at most 1,024 CPUs
    int first = 0;
    while (CPU_ISSET(first, &before_) == 0) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    REQUIRE(::sched_setaffinity(0, sizeof(one), &one) == 0);
  }
  ~OneProcessor() { (void)::sched_setaffinity(0, sizeof(before_), &before_); }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;

 private:
  cpu_set_t before_;
};

// Two seconds of reads that compute. Returns why read-ahead was started or that the autotuner did not run; else "".
// One thread, so that more threads cannot replace read-ahead.
std::string decision_of_busy_reads() {
  PipelineSpec spec = tuned_spec(8);
  spec.execution.threads = 1;
  const auto device = open_device("cpu");
  Loader loader(spec, std::make_shared<BusyJpegSet>(200), *device, {});
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(2))
    if (!loader.next()) return "an endless loader came to an end";
  const std::vector<TuningStep> tuning = loader.profile().tuning;
  if (tuning.empty()) return "the autotuner did not run";
  for (const TuningStep& step : tuning)
    if (step.read_ahead > 0) return step.reason;
  return "";
}

TEST_CASE("threads that wait for a CPU do not start read-ahead") {
  const OneProcessor one;
  std::atomic<bool> stop{false};
  std::vector<std::jthread> others;
  for (int i = 0; i < 3; ++i)
    others.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) continue;
    });
  const std::string begun = decision_of_busy_reads();
  stop = true;
  CHECK_THAT(begun, Equals(""));
}

#if !UNSTARVE_TSAN  // which does not support threads in a fork
TEST_CASE("time during which the process is stopped does not count as sleep for records") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string begun = decision_of_busy_reads();
    std::fprintf(stderr, "%s", begun.c_str());
    ::_exit(begun.empty() ? 0 : 1);
  }
  int status = 0;
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    (void)::kill(child, SIGSTOP);
    REQUIRE(::waitpid(child, &status, WUNTRACED) == child);
    REQUIRE(WIFSTOPPED(status));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    (void)::kill(child, SIGCONT);
  }
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif

TEST_CASE("read-ahead does not start if the spec, a memory limit or the order excludes it") {
  const auto dataset = std::make_shared<ColdLaterSet>(64);
  const auto most_of = [&](const auto& change) {
    PipelineSpec spec = tuned_spec(8);
    change(spec);
    return plan_run(spec, dataset, {2}).execution.max_read_ahead;
  };
  CHECK(most_of([](PipelineSpec&) {}) == 64);
  CHECK(most_of([](PipelineSpec& spec) { spec.execution.read_ahead = 0; }) == 0);
  CHECK(most_of([](PipelineSpec& spec) { spec.execution.threads = 2; }) == 64);
  CHECK(most_of([](PipelineSpec& spec) { spec.execution.autotune = false; }) == 0);
  CHECK(most_of([](PipelineSpec& spec) { spec.execution.memory_limit_mb = 100; }) == 0);
  CHECK(most_of([](PipelineSpec& spec) { spec.execution.order = ExecutionOrder::kRelaxed; }) == 0);
}

TEST_CASE("a run that has started read-ahead and ends early ends its threads") {
  const auto dataset = std::make_shared<ColdLaterSet>(64);
  const auto device = open_device("cpu");
  for (int i = 0; i < 8; ++i) {
    Loader loader(tuned_spec(4), dataset, *device, {});
    for (int batches = 0; batches < 4 * i; ++batches) REQUIRE(loader.next());
    if (i % 2) loader.close();
  }
}

TEST_CASE("with a fixed number of threads only reads in flight are tuned, and no bit changes") {
  const auto dataset = std::make_shared<SleepyJpegSet>(200, std::chrono::milliseconds(2), 64);
  const auto device = open_device("cpu");
  PipelineSpec spec = small_spec(8, 2, 3);
  Loader loader(spec, dataset, *device, {});
  CHECK(loader.profile().read_ahead == 64);
  CHECK_THAT(loader.explain(),
             Contains("64 records in flight, the data is on a cold disk or on a server; the starting point"));
  // A step of 20 ms takes 400 samples/s with reads of 2 ms: one read in flight.
  std::vector<Seen> seen;
  while (loader.profile().read_ahead > 32) {
    REQUIRE(seen.size() < 1000);
    seen.push_back(see(*loader.next()));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const Profile profile = loader.profile();
  REQUIRE(profile.tuning.size() >= 2);
  for (const TuningStep& step : profile.tuning) {
    CHECK(step.threads == 2);
    CHECK(step.prefetch == 3);
  }
  CHECK_THAT(profile.tuning.front().reason, Contains("fixed threads"));
  CHECK_THAT(profile.tuning.back().reason, Contains("reads in flight, "));
  spec.execution.read_ahead = 0;
  Loader plain(spec, dataset, *device, {});
  for (const Seen& expected : seen) CHECK(see(*plain.next()) == expected);
}

}  // namespace
}  // namespace unstarve
