#include "unstarve/pipeline/executor/held_watch.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/plan/execution.h"
#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {
namespace {

using Catch::Matchers::Contains;
using std::chrono::milliseconds;

TEST_CASE("the waiting time starts at the first check at which all slots are held") {
  HeldWatch watch(100);
  CHECK_FALSE(watch.check(false, 1000));
  CHECK_FALSE(watch.check(true, 2000));
  CHECK_FALSE(watch.check(true, 2099));
  CHECK(watch.check(true, 2100));
  CHECK_FALSE(watch.check(true, 3000));  // only once
}

TEST_CASE("a released slot or a delivered batch restarts the waiting time") {
  HeldWatch watch(100);
  CHECK_FALSE(watch.check(true, 0));
  CHECK_FALSE(watch.check(false, 99));
  CHECK_FALSE(watch.check(true, 150));
  watch.reset();
  CHECK_FALSE(watch.check(true, 260));
  CHECK(watch.check(true, 360));
}

// Batches of 8 samples with a memory limit for a few of them.
PipelineSpec limited_spec(ExecutionOrder order = ExecutionOrder::kExact) {
  PipelineSpec spec = small_spec(8, 2, 1);
  spec.execution.order = order;
  spec.execution.memory_limit_mb = 5;
  return spec;
}

Loader::Options with_notice(std::function<void(const std::string&)> on_notice) {
  Loader::Options options;
  options.grow = true;
  options.on_notice = std::move(on_notice);
  return options;
}

// Takes batches until no further one is delivered; waits for batches in progress.
std::vector<Batch> keep_all(Loader& loader) {
  std::vector<Batch> kept;
  while (kept.size() < loader.execution().memory.max_batches) {
    kept.push_back(std::move(*loader.next()));
    REQUIRE(kept.size() < 1000);
  }
  return kept;
}

TEST_CASE("a consumer that holds all slots gets one notice") {
  for (const ExecutionOrder order : {ExecutionOrder::kExact, ExecutionOrder::kRelaxed}) {
    const auto device = open_device("cpu");
    std::vector<std::string> notices;
    ManualClock clock;
    Loader loader(limited_spec(order), std::make_shared<JpegSet>(64), *device,
                  with_notice([&](const std::string& text) { notices.push_back(text); }), clock);
    std::vector<Batch> kept = keep_all(loader);
    REQUIRE(kept.size() >= 2);
    const auto wait = [&] { return loader.wait(milliseconds(1)); };

    CHECK_FALSE(wait());
    clock.advance(kHeldPatienceNs - 1);
    CHECK_FALSE(wait());
    CHECK(notices.empty());
    clock.advance(1);
    CHECK_FALSE(wait());
    REQUIRE(notices.size() == 1);
    CHECK_THAT(notices[0], Contains("the consumer still holds all " + std::to_string(kept.size()) +
                                    " batch buffers of 0.2 MB that execution.memory_limit_mb: 5 permits"));
    clock.advance(10 * kHeldPatienceNs);
    CHECK_FALSE(wait());
    CHECK(notices.size() == 1);

    kept.pop_back();
    CHECK(loader.next());  // and continues
  }
}

TEST_CASE("a consumer that releases in time, or waits for workers, gets no notice") {
  const auto device = open_device("cpu");
  std::vector<std::string> notices;
  ManualClock clock;
  Loader loader(limited_spec(), std::make_shared<JpegSet>(64), *device,
                with_notice([&](const std::string& text) { notices.push_back(text); }), clock);
  std::vector<Batch> kept = keep_all(loader);
  for (int i = 0; i < 10; ++i) {
    CHECK_FALSE(loader.wait(milliseconds(0)));
    clock.advance(kHeldPatienceNs - 1);
    kept.pop_back();
    (void)loader.wait(milliseconds(0));
    clock.advance(kHeldPatienceNs);  // that slot is being filled, for any length of time
    (void)loader.wait(milliseconds(0));
    kept.push_back(std::move(*loader.next()));
  }
  CHECK(notices.empty());
}

// Each reading is one second later.
class Striding final : public Clock {
 public:
  std::int64_t now_ns() const override { return now_ns_.fetch_add(1'000'000'000); }
  void sleep_until(std::int64_t) override {}

 private:
  mutable std::atomic<std::int64_t> now_ns_{0};
};

TEST_CASE("next() also emits the notice, and continues with the slot that is then released") {
  const auto device = open_device("cpu");
  std::vector<Batch> kept;
  Striding clock;
  int notices = 0;
  Loader loader(limited_spec(), std::make_shared<JpegSet>(64), *device, with_notice([&](const std::string&) {
                  ++notices;
                  kept.pop_back();
                }),
                clock);
  kept = keep_all(loader);
  CHECK(loader.next());
  CHECK(notices == 1);
}

}  // namespace
}  // namespace unstarve
