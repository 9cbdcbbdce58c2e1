// A consumer that keeps its batches, with a cache, within a memory limit.
#include <catch2/catch.hpp>
#include <chrono>
#include <deque>

#include "unstarve/core/clock.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/plan/memory_plan.h"
#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kLimitMb = 5;

PipelineSpec cached_spec(CacheWhat what) {
  PipelineSpec spec = small_spec(8, 1, 1);
  spec.operations = {{"center_crop", {{"size", {32}}}}, {"horizontal_flip", {}}};
  spec.cache.what = what;
  spec.execution.memory_limit_mb = kLimitMb;
  return spec;
}

MemoryShare share_of(const Loader& loader, const std::string& component) {
  for (const MemoryShare& share : loader.memory())
    if (share.component == component) return share;
  return {};
}

std::uint64_t most_of(const Loader& loader) {
  std::uint64_t most = 0;
  for (const MemoryShare& share : loader.memory()) most += share.most;
  return most;
}

TEST_CASE("kept batches use the memory that the cache does not use, and return it") {
  const auto device = open_device("cpu");
  for (const CacheWhat what : {CacheWhat::kEncoded, CacheWhat::kPixels}) {
    Loader::Options options;
    options.grow = true;
    Loader loader(cached_spec(what), std::make_shared<JpegSet>(40), *device, options);
    const MemoryPlan plan = loader.execution().memory;
    const std::uint64_t room = share_of(loader, "cache").most;
    // Meanwhile the cache uses a part of the memory for these batches.
    const std::size_t many = plan.max_batches + 5;
    REQUIRE(room > 9 * plan.batch);
    std::deque<Batch> kept;
    while (kept.size() < many) {
      REQUIRE(loader.wait(std::chrono::minutes(1)));
      kept.push_back(*loader.next());
      CHECK(most_of(loader) <= kLimitMb * 1'000'000);
      const MemoryShare cache = share_of(loader, "cache"), batches = share_of(loader, "batches");
      CHECK(cache.bytes <= cache.most);
      CHECK(batches.bytes <= batches.most);
    }
    CHECK(share_of(loader, "cache").most + 4 * plan.batch < room);
    kept.clear();
    for (int i = 0; i < 80; ++i) REQUIRE(loader.next());
    CHECK(share_of(loader, "cache").most == room);
  }
}

TEST_CASE("the notice to a consumer that holds all slots mentions the cache") {
  const auto device = open_device("cpu");
  PipelineSpec spec = cached_spec(CacheWhat::kPixels);
  ManualClock clock;
  std::string notice;
  Loader::Options options;
  options.grow = true;
  options.on_notice = [&](const std::string& text) { notice = text; };
  Loader loader(spec, std::make_shared<JpegSet>(40), *device, options, clock);
  std::deque<Batch> kept;
  while (notice.empty()) {
    if (loader.wait(std::chrono::milliseconds(20))) kept.push_back(*loader.next());
    clock.advance(kHeldPatienceNs);
  }
  CHECK(kept.size() > loader.execution().memory.max_batches);
  CHECK_THAT(notice, Catch::Contains("holds all " + std::to_string(kept.size()) + " batch buffers") &&
                         Catch::Contains(" MB in the cache; the next batch is made when it releases one"));
  CHECK(most_of(loader) <= kLimitMb * 1'000'000);
  kept.pop_back();
  CHECK(loader.wait(std::chrono::minutes(1)));
}

}  // namespace
}  // namespace unstarve
