// cache.what: auto, from the measurement to the reads that it saves.
#include "unstarve/pipeline/executor/cache_trial.h"

#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/executor/resources.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

// Counts the reads of another dataset, each of which sleeps.
class Counted final : public Dataset {
 public:
  explicit Counted(std::shared_ptr<const Dataset> inner, std::chrono::microseconds sleep = {})
      : inner_(std::move(inner)), sleep_(sleep) {}
  std::string format() const override { return inner_->format(); }
  std::uint64_t size() const override { return inner_->size(); }
  const std::vector<Field>& fields() const override { return inner_->fields(); }
  const std::vector<std::string>& classes() const override { return inner_->classes(); }
  std::uint64_t stored_bytes() const override { return inner_->stored_bytes(); }
  RecordLocation record_location(std::uint64_t id) const override { return inner_->record_location(id); }
  void read(std::uint64_t id, RecordBuffer& record) const override {
    ++reads;
    if (sleep_.count() > 0) std::this_thread::sleep_for(sleep_);
    inner_->read(id, record);
  }
  mutable std::atomic<int> reads{0};

 private:
  std::shared_ptr<const Dataset> inner_;
  std::chrono::microseconds sleep_;
};

// Real photographs if available, otherwise generated ones.
std::shared_ptr<const Dataset> photographs() {
  const char* const folder = std::getenv("UNSTARVE_DATA");
  const fs::path archive = fs::path(folder != nullptr ? folder : "../shared/data") / "imagenet160.tar";
  if (!fs::exists(archive)) return std::make_shared<JpegSet>(160);
  // A copy: the index is written next to it.
  static const testing::TemporaryFolder copies;
  const fs::path copy = copies.path() / archive.filename();
  if (!fs::exists(copy)) fs::copy_file(archive, copy);
  return open_dataset(copy.string());
}

PipelineSpec auto_spec(std::uint64_t limit_mb = 1024, const std::string& folder = "") {
  PipelineSpec spec = small_spec(16, 1);
  spec.source.labels = "none";  // the photographs have none
  spec.cache = {CacheWhat::kAuto, folder, limit_mb};
  return spec;
}

const PassNote& cache_note(const Plan& plan) {
  for (const PassNote& note : plan.passes)
    if (note.name == "cache") return note;
  throw std::logic_error("no cache pass");
}

// The number of reads in each of `epochs` epochs.
std::vector<int> reads_of(const PipelineSpec& spec, const std::shared_ptr<const Counted>& data, int epochs,
                          std::vector<Seen>& seen) {
  const auto device = open_device("cpu");
  PipelineSpec on_demand = spec;
  on_demand.execution.prefetch = 0;  // nothing is read before its epoch
  Loader loader(on_demand, data, *device, {});
  std::vector<int> reads;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const int before = data->reads;
    for (std::uint64_t batch = 0; batch < loader.batches_per_epoch(); ++batch) seen.push_back(see(*loader.next()));
    reads.push_back(data->reads - before);
  }
  return reads;
}

TEST_CASE("auto cache: the choice for photographs saves the reads of the second epoch and changes no bit") {
  const auto inner = photographs();
  const auto samples = static_cast<int>(inner->size() / 16 * 16);
  PipelineSpec plain = auto_spec();
  plain.order.shuffle = false;  // every epoch has the same samples
  plain.cache = {};
  std::vector<Seen> expected, seen;
  CHECK(reads_of(plain, std::make_shared<Counted>(inner), 2, expected) == std::vector<int>{samples, samples});

  // If reads cost as much as decoding, every kind of cache justifies its memory, also on a busy machine.
  PipelineSpec spec = auto_spec();
  spec.order.shuffle = false;
  const auto slow = std::make_shared<Counted>(inner, std::chrono::milliseconds(2));
  CHECK(reads_of(spec, slow, 2, seen) == std::vector<int>{samples, 0});
  CHECK(seen == expected);
}

TEST_CASE("auto cache: no cache if only a small part fits, or for a single epoch") {
  const auto inner = photographs();
  const auto data = std::make_shared<Counted>(inner);
  const auto cache_of = [&](const PipelineSpec& spec, std::uint32_t epochs) {
    const Plan plan = plan_run(spec, data, {1, Consumer::kHost, epochs}).plan;
    CHECK(cached(plan) == CacheWhat::kNothing);
    CHECK(plan.spec.cache == CacheSpec{});
    CHECK_FALSE(cache_note(plan).applied);
    CHECK(decode_step(plan)->region == DecodeRegion::kSelected);  // no whole images without a cache
    return cache_note(plan).reason;
  };
  // A megabyte holds a hundredth of the pixels of real photographs, a third of generated ones.
  if (std::dynamic_pointer_cast<const JpegSet>(inner) == nullptr)
    CHECK_THAT(cache_of(auto_spec(1), 0),
               Contains("none by cache.what auto: ") && Contains("per sample without a cache") && Contains("hold"));
  const int before = data->reads;
  CHECK(cache_of(auto_spec(), 1) == "none by cache.what auto: no sample is used twice");
  CHECK(data->reads == before + 1);  // one read for the size of the first image
}

TEST_CASE("auto cache: the choice stays within the memory limit, and its memory is reserved") {
  const auto data = std::make_shared<Counted>(photographs(), std::chrono::milliseconds(2));
  PipelineSpec spec = auto_spec(1000);
  spec.execution.memory_limit_mb = 60;
  spec.execution.prefetch = 1;
  const PlannedRun run = plan_run(spec, data, {1});
  const Plan& plan = run.plan;
  REQUIRE(plan.spec.cache.what != CacheWhat::kAuto);
  const Resources resources = open_resources(plan, run.execution, run.data);
  const std::uint64_t limit = resources.encoded_cache ? resources.encoded_cache->counts().limit
                              : resources.pixel_cache ? resources.pixel_cache->counts().limit
                                                      : 0;
  const MemoryPlan& memory = run.execution.memory;
  CHECK(limit <= memory.cache + 4096);
  CHECK(memory.batch * memory.max_batches + memory.worker + memory.larger_images + memory.read_ahead + memory.cache <=
        memory.limit);
  CHECK(memory.threads == 1);
}

TEST_CASE("auto cache: a file if a folder is given, with the same name as for cache.what pixels") {
  const fs::path folder = fs::temp_directory_path() / ("unstarve-cache-trial-" + std::to_string(::getpid()));
  PipelineSpec spec = auto_spec(200, folder.string());
  spec.operations = evaluation_operations(48);  // no random operation: the cached pixels have the final size
  spec.order.shuffle = false;
  const auto inner = std::make_shared<JpegSet>(64);
  std::vector<Seen> expected, seen;
  PipelineSpec pixels = spec;
  pixels.cache.what = CacheWhat::kPixels;
  (void)reads_of(pixels, std::make_shared<Counted>(inner), 1, expected);
  std::vector<fs::path> made;
  for (const auto& entry : fs::directory_iterator(folder)) made.push_back(entry.path());
  REQUIRE(made.size() == 1);

  const auto slow = std::make_shared<Counted>(inner, std::chrono::milliseconds(2));
  const Plan planned = plan_run(spec, slow, {1}).plan;
  // Caching records in memory is as fast only if decoding is negligible compared with a read of 2 ms.
  if (!planned.spec.cache.folder.empty()) {
    CHECK_THAT(cache_note(planned).reason, Contains(made.front().string()) && Contains("by cache.what auto: "));
    CHECK(reads_of(spec, slow, 1, seen).front() == 0);  // all samples are in the file
    CHECK(seen == expected);
  } else {
    CHECK(planned.spec.cache.what == CacheWhat::kEncoded);
  }
  fs::remove_all(folder);
}

TEST_CASE("auto cache: pixels are never chosen if decoding at a reduced scale would change them") {
  PipelineSpec spec = auto_spec();
  spec.passes["scale_into_decode"] = true;
  const auto slow = std::make_shared<Counted>(photographs(), std::chrono::milliseconds(2));
  const Plan plan = plan_run(spec, slow, {1}).plan;
  CHECK(decode_step(plan)->reduction == Reduction::kAllowed);
  CHECK(plan.spec.cache.what == CacheWhat::kEncoded);
  CHECK_THAT(cache_note(plan).reason, !Contains("pixels"));
}

TEST_CASE("auto cache: bad samples are ignored; stored pixels and a disabled pass lead to no cache") {
  PipelineSpec spec = auto_spec();
  spec.errors.policy = OnError::kSkip;
  const auto bad = std::make_shared<JpegSet>(32, std::set<std::uint64_t>{0, 7, 14, 31});
  const Plan plan = plan_run(spec, std::make_shared<Counted>(bad, std::chrono::milliseconds(1)), {1}).plan;
  CHECK(cache_note(plan).applied);

  const auto stored = open_dataset("synthetic:classes=2,images=20,size=50,seed=1");
  if (stored->field_index(FieldKind::kEncodedImage) < 0)
    CHECK_THAT(cache_note(plan_run(spec, stored, {1}).plan).reason, Contains("stored as pixels"));

  spec.passes["cache"] = false;
  const auto data = std::make_shared<Counted>(std::make_shared<JpegSet>(32));
  const Plan off = plan_run(spec, data, {1}).plan;
  CHECK(cache_note(off).reason == "switched off by passes.cache");
  CHECK(off.spec.cache == CacheSpec{});
  CHECK(data->reads == 1);
}

TEST_CASE("pixels may be cached after any operation before the first random one without changing a bit") {
  const auto data = std::make_shared<JpegSet>(40);
  const fs::path folder = fs::temp_directory_path() / ("unstarve-cache-after-" + std::to_string(::getpid()));
  PipelineSpec spec = small_spec(8, 2);
  spec.operations = {
      {"resize", {{"size", {96, 96}}}}, {"center_crop", {{"size", {80}}}}, {"pad_crop", {{"size", {64}}}}};
  const auto expected = run(spec, data, {{}, 2});
  for (const std::string& cache_folder : {std::string(), folder.string()})
    for (const int after : {-1, 0, 1, 2}) {
      spec.cache = {CacheWhat::kPixels, cache_folder, 100, after};
      const Plan plan = plan_run(spec, data, {2}).plan;
      CHECK(find_step<CacheLookupStep>(plan)->operations == static_cast<OpIndex>(after < 0 ? 2 : after));
      CHECK(run(spec, data, {{}, 2}) == expected);
    }
  CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 3);  // position -1 is position 2
  fs::remove_all(folder);
  spec.cache = {CacheWhat::kPixels, "", 100, 3};
  CHECK_THROWS_WITH(plan_run(spec, data, {2}), Contains("cache.after: 3; expected at most 2: pad_crop differs"));
  spec.operations.pop_back();
  CHECK_THROWS_WITH(plan_run(spec, data, {2}), Contains("cache.after: 3, but there are 2 operations"));
  spec.cache.what = CacheWhat::kEncoded;
  CHECK_THROWS_WITH(plan_run(spec, data, {2}),
                    Contains("cache.after: encoded records are cached before any operation"));
}

TEST_CASE("auto cache: pixels are tried before operations that make them larger, and at the specified position") {
  const auto slow = std::make_shared<Counted>(std::make_shared<JpegSet>(64), std::chrono::milliseconds(2));
  PipelineSpec spec = auto_spec();
  spec.operations = {{"resize", {{"size", {24, 24}}}}, {"resize", {{"size", {200, 200}}}}, {"horizontal_flip", {}}};
  const std::string larger = cache_note(plan_run(spec, slow, {1}).plan).reason;
  CHECK_THAT(larger,
             Contains("; pixels after 1 operation: ") && Contains("; pixels: ") && !Contains("after 0 operations"));
  spec.cache.after = 0;
  const Plan planned = plan_run(spec, slow, {1}).plan;
  CHECK_THAT(cache_note(planned).reason, !Contains("after 1 operations"));
  if (planned.spec.cache.what == CacheWhat::kPixels) CHECK(find_step<CacheLookupStep>(planned)->operations == 0);
  spec.cache.after = -1;
  spec.operations = {{"resize", {{"size", {24, 24}}}}, {"horizontal_flip", {}}};
  CHECK_THAT(cache_note(plan_run(spec, slow, {1}).plan).reason, !Contains("after 0 operations"));
}

TEST_CASE("a cache that does not fit into memory does not disable the decoding of crops") {
  PipelineSpec spec = small_spec(16, 1);
  spec.cache.what = CacheWhat::kPixels;
  spec.execution.prefetch = 1;
  const auto data = std::make_shared<JpegSet>(200);
  for (std::uint64_t mb = 4;; ++mb) {
    spec.execution.memory_limit_mb = mb;
    std::optional<Plan> plan;
    try {
      plan.emplace(plan_run(spec, data, {1}).plan);
    } catch (const Error&) {
      REQUIRE(mb < 100);
      continue;  // less than the working set
    }
    const bool is_cached = cached(*plan) == CacheWhat::kPixels;
    CHECK((decode_step(*plan)->region == DecodeRegion::kSelected) == !is_cached);
    if (is_cached) break;
  }
}

}  // namespace
}  // namespace unstarve
