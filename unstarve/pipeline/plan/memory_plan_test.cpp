#include "unstarve/pipeline/plan/memory_plan.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/ops/operations.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/plan/execution.h"
#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kMb = 1'000'000;

MemoryNeeds needs(std::uint64_t limit) {
  MemoryNeeds needs;
  needs.limit = limit;
  needs.batch = 10 * kMb;
  needs.worker = 5 * kMb;
  needs.record = kMb;
  needs.threads = 4;
  needs.prefetch = 4;
  needs.read_ahead = true;
  needs.cache = 1000 * kMb;
  return needs;
}

std::uint64_t sum(const MemoryPlan& plan) {
  return static_cast<std::uint64_t>(plan.threads) * plan.worker + plan.device + plan.max_batches * plan.batch +
         plan.larger_images + plan.read_ahead + plan.cache;
}

TEST_CASE("the parts of a memory limit never exceed it, and equal the requirements if these fit") {
  for (std::uint64_t limit = 50 * kMb; limit < 3000 * kMb; limit += 7 * kMb) {
    for (const std::uint64_t cache : {std::uint64_t{0}, 100 * kMb, 10'000 * kMb}) {
      MemoryNeeds memory_needs = needs(limit);
      memory_needs.cache = cache;
      const MemoryPlan plan = plan_memory(memory_needs);
      CHECK(sum(plan) <= limit);
      CHECK(sum(plan) + 10 * kMb > limit);  // all of it can be used
      CHECK(plan.threads == 4);
      CHECK(plan.prefetch >= 1);
      CHECK(plan.kept_batches == static_cast<std::size_t>(plan.prefetch) + 2);
      CHECK(plan.max_batches >= plan.kept_batches);
      CHECK((plan.read_ahead == 0 || plan.read_ahead >= 8 * kMb));
      if (limit > 2000 * kMb && cache < 1000 * kMb) {
        CHECK(plan.cache == cache);
        CHECK(plan.prefetch == 4);
      }
    }
  }
}

TEST_CASE("memory on a device counts towards the limit, and is rejected if it does not fit") {
  MemoryNeeds memory_needs = needs(300 * kMb);
  const MemoryPlan without = plan_memory(memory_needs);
  memory_needs.device = 120 * kMb;
  const MemoryPlan plan = plan_memory(memory_needs);
  CHECK(plan.device == 120 * kMb);
  CHECK(sum(plan) <= 300 * kMb);
  CHECK(sum(plan) + 10 * kMb > 300 * kMb);
  CHECK(plan.cache + plan.larger_images + plan.read_ahead < without.cache + without.larger_images + without.read_ahead);
  CHECK_THAT(explain(plan), Catch::Contains(", on the device 120.0"));
  memory_needs.device = 280 * kMb;
  CHECK_THROWS_WITH(plan_memory(memory_needs), Catch::Contains("threads of 5.0 MB each, and 280.0 MB on the device"));
  memory_needs.limit = 0;
  CHECK(plan_memory(memory_needs).device == 280 * kMb);
}

TEST_CASE("a loader counts the values of its batches on the device") {
  const auto dataset = std::make_shared<JpegSet>(20);
  const auto device = open_device("cpu");
  Loader::Options options;
  options.on_device = {.per_value = 13, .fixed = 500};
  for (const std::uint64_t limit : {0, 20}) {
    PipelineSpec spec = small_spec(5, 1, 1);
    spec.execution.memory_limit_mb = limit;
    const Loader loader(spec, dataset, *device, options);
    constexpr std::uint64_t kBytes = 13 * 5 * 48 * 48 * 3 + 500;
    CHECK(loader.execution().memory.device == kBytes);
    std::uint64_t reported = 0, most = 0;
    for (const MemoryShare& share : loader.memory()) {
      if (share.component == "on the device") reported += share.bytes;
      most += share.most;
    }
    CHECK(reported == kBytes);
    if (limit > 0) CHECK(most <= limit * kMb);
  }
}

// Memory of a worker that decodes photographs of 4000x3000 and applies these operations.
std::uint64_t worker_with(const std::vector<OpSpec>& specs) {
  std::vector<std::shared_ptr<const Operation>> operations;
  for (const OpSpec& spec : specs) operations.push_back(make_operation(spec));
  return worker_bytes({kMb, {4000, 3000}, {4000, 3000}, {4000, 3000}, false}, operations);
}

TEST_CASE("a worker's share includes the scratch memory of operations, and images that they enlarge") {
  constexpr std::uint64_t kPixels = 4000 * 3000 * 3;
  const std::uint64_t plain = worker_with({{"horizontal_flip", {}}});
  CHECK(plain >= (kMb + 5 * kPixels) * 3 / 2);
  // 129 rows of 16 bits are held until the rows below them are available.
  const OpSpec blur{"gaussian_blur", {{"sigma", {20, 20}}, {"radius", {64}}}};
  CHECK(worker_with({blur}) >= plain + 129 * 4000 * 3 * 2 * 3 / 2);
  // The original and its sums in 32 bits.
  const OpSpec mix{"aug_mix", {}};
  CHECK(worker_with({mix}) >= plain + 5 * kPixels * 3 / 2);
  // After a crop they are small, and an enlarged image counts twice.
  const OpSpec crop{"random_resized_crop", {{"size", {224}}}}, larger{"resize", {{"size", {6000, 8000}}}};
  CHECK(worker_with({crop, blur, mix}) < plain + 10 * kMb);
  CHECK(worker_with({crop, larger}) >= plain + 2 * 3 * kPixels * 3 / 2);
  // An operation that rejects the image needs no memory beyond that of the operations before it.
  CHECK(worker_with({{"resize", {{"size", {60000}}}}}) < 2 * plain);
}

TEST_CASE("without a limit the plan equals the requirements") {
  const MemoryPlan plan = plan_memory(needs(0));
  CHECK(plan.cache == 1000 * kMb);
  CHECK(plan.prefetch == 4);
  CHECK(plan.max_batches == 0);
  CHECK(explain(plan).empty());
}

TEST_CASE("a limit below the minimum is rejected with the required number") {
  // Three batches and four workers.
  CHECK_THROWS_WITH(plan_memory(needs(49 * kMb)),
                    Catch::Contains("execution.memory_limit_mb: 49; expected at least 50: 3 batches of 10.0 MB and 4 "
                                    "threads of 5.0 MB each"));
  CHECK(plan_memory(needs(50 * kMb)).prefetch == 1);
  MemoryNeeds open = needs(40 * kMb);
  open.fewer_threads = true;
  CHECK(plan_memory(open).threads == 2);
  open.limit = 34 * kMb;
  CHECK_THROWS_WITH(plan_memory(open), Catch::Contains("expected at least 35"));
  MemoryNeeds on_request = needs(41 * kMb);
  on_request.prefetch = 0;
  CHECK(plan_memory(on_request).prefetch == 0);
}

TEST_CASE("a ring that may grow needs one slot in addition to the prefetched ones, in relaxed order two") {
  MemoryNeeds plain = needs(40 * kMb);  // two batches and four workers
  plain.grow = true;
  const MemoryPlan least = plan_memory(plain);
  CHECK(least.prefetch == 1);
  CHECK(least.kept_batches == 2);
  CHECK(least.max_batches == 2);
  plain.limit = 39 * kMb;
  CHECK_THROWS_WITH(plan_memory(plain), Catch::Contains("expected at least 40: 2 batches of 10.0 MB and 4 threads"));
  plain.limit = 70 * kMb;
  CHECK(plan_memory(plain).prefetch == 4);
  plain.prefetch = 0;
  CHECK(plan_memory(plain).kept_batches == 2);
  plain.limit = 40 * kMb;
  plain.prefetch = 4;
  plain.relaxed = true;
  CHECK_THROWS_WITH(plan_memory(plain), Catch::Contains("expected at least 50: 3 batches"));
}

PipelineSpec limited_spec(std::uint64_t limit_mb) {
  PipelineSpec spec = small_spec(8, 2);
  spec.execution.memory_limit_mb = limit_mb;
  return spec;
}

std::uint64_t held(const Loader& loader) {
  std::uint64_t bytes = 0;
  for (const MemoryShare& share : loader.memory()) {
    CHECK(share.bytes <= share.most);
    bytes += share.bytes;
  }
  return bytes;
}

TEST_CASE("batches are the same under a limit, which is never exceeded, with a cache and read-ahead") {
  const auto dataset = std::make_shared<JpegSet>(80);
  const auto expected = run(small_spec(8, 2), dataset, {{}, 3});
  const auto device = open_device("cpu");
  for (const std::uint64_t limit_mb : {6, 7, 20}) {
    for (const CacheWhat what : {CacheWhat::kNothing, CacheWhat::kEncoded, CacheWhat::kPixels}) {
      PipelineSpec spec = limited_spec(limit_mb);
      spec.cache = {what, "", 1000};
      spec.execution.read_ahead = 16;
      Loader loader(spec, dataset, *device, {{}, 3, true});
      std::vector<Seen> seen;
      while (const auto batch = loader.next()) {
        seen.push_back(see(*batch));
        CHECK(held(loader) <= limit_mb * kMb);
      }
      CHECK(seen == expected);
      CHECK_THAT(loader.explain(), Catch::Contains("memory      limit " + std::to_string(limit_mb) + ".0 MB"));
    }
  }
}

TEST_CASE("a limit with room for two batches is enough for a loop that holds one") {
  const auto dataset = std::make_shared<JpegSet>(400);
  const auto device = open_device("cpu");
  PipelineSpec spec = small_spec(100, 1);  // 2.8 MB a batch
  const auto expected = run(spec, dataset, {{}, 2});
  spec.execution.memory_limit_mb = 8;
  Loader loader(spec, dataset, *device, {{}, 2, true});
  REQUIRE(loader.execution().memory.max_batches == 2);
  CHECK_THROWS_WITH(Loader(spec, dataset, *device, {{}, 2}), Catch::Contains(": 3 batches"));
  std::vector<Seen> seen;
  std::optional<Batch> held;
  while ((held = loader.next())) {  // the previous batch is released only when this one is available
    seen.push_back(see(*held));
    CHECK(loader.memory().front().bytes <= 2 * loader.execution().memory.batch);
  }
  CHECK(seen == expected);
}

TEST_CASE("a consumer that holds all batches of the limit waits until it releases one") {
  const auto dataset = std::make_shared<JpegSet>(400);
  const auto device = open_device("cpu");
  for (const ExecutionOrder order : {ExecutionOrder::kExact, ExecutionOrder::kRelaxed}) {
    PipelineSpec spec = limited_spec(6);
    spec.execution.order = order;
    Loader loader(spec, dataset, *device, {{}, 1, true});
    const std::size_t most = loader.execution().memory.max_batches;
    REQUIRE(most >= 3);
    REQUIRE(most < 45);
    std::vector<Batch> kept;
    while (kept.size() < most) kept.push_back(*loader.next());
    CHECK(held(loader) <= 6 * kMb);
    CHECK_FALSE(loader.wait(std::chrono::milliseconds(10)));
    std::atomic<bool> given = false;
    std::jthread other([&] {
      auto batch = loader.next();
      given = batch.has_value();
    });
    kept.pop_back();
    other.join();
    CHECK(given);
    kept.clear();
    std::size_t rest = 0;
    while (loader.next()) ++rest;
    CHECK(rest == 50 - most - 1);
  }
}

// One image is larger than those that planning reads.
class OneLarge final : public JpegSet {
 public:
  explicit OneLarge(Size size) : JpegSet(200), large_(std::make_shared<Image>(size)) {
    std::fill_n(large_->data(), large_->bytes(), std::uint8_t{90});
    bytes_ = encode_jpeg(large_->view(), 90);
  }
  void read(std::uint64_t id, RecordBuffer& record) const override {
    JpegSet::read(id, record);
    if (id == 1) record.values[0].bytes = bytes_;
  }

 private:
  std::shared_ptr<Image> large_;
  std::vector<std::uint8_t> bytes_;
};

TEST_CASE("an image larger than expected borrows memory, or the error names it and a limit") {
  PipelineSpec spec = limited_spec(20);
  const auto fits = std::make_shared<OneLarge>(Size{300, 300});
  CHECK(run(spec, fits, {{}, 2}) == run(small_spec(8, 2), fits, {{}, 2}));
  const auto too_large = std::make_shared<OneLarge>(Size{2000, 2000});
  CHECK_THROWS_WITH(run(spec, too_large, {{}, 1}), Catch::Contains("file-1: an image of 2000x2000 pixels needs") &&
                                                       Catch::Contains("execution.memory_limit_mb: 20 leaves"));
  spec.errors.policy = OnError::kSkip;
  std::size_t samples = 0;
  for (const Seen& seen : run(spec, too_large, {{}, 1})) samples += seen.ids.size();
  CHECK(samples == 199);
}

TEST_CASE("a limit is divided even if images cannot be read") {
  PipelineSpec spec = limited_spec(20);
  spec.errors.policy = OnError::kSkip;
  std::size_t samples = 0;
  for (const Seen& seen : run(spec, std::make_shared<JpegSet>(80, std::set<std::uint64_t>{0, 7, 33}), {{}, 1}))
    samples += seen.ids.size();
  CHECK(samples == 77);
}

}  // namespace
}  // namespace unstarve
