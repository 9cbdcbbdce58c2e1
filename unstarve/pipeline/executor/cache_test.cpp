// Caches in the loader change no bit of any batch, and save reads.
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>

#include <unistd.h>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// JPEG files that count how often they are read.
class CountedJpegs final : public JpegSet {
 public:
  using JpegSet::JpegSet;
  void read(std::uint64_t id, RecordBuffer& record) const override {
    ++reads;
    JpegSet::read(id, record);
  }
  mutable std::atomic<int> reads{0};
};

TEST_CASE("a cache changes no bit of any batch, and the second epoch reads nothing") {
  constexpr std::uint64_t kSamples = 40;
  const auto folder = fs::temp_directory_path() / ("unstarve-cache-test-" + std::to_string(::getpid()));
  for (const bool evaluation : {false, true}) {
    PipelineSpec spec = small_spec(8);
    if (evaluation) spec.operations = evaluation_operations(48);
    Loader::Options three_epochs;
    three_epochs.epochs = 3;
    const auto expected = run(spec, std::make_shared<JpegSet>(kSamples), three_epochs);
    for (const CacheSpec& cache : {CacheSpec{CacheWhat::kEncoded, "", 10}, CacheSpec{CacheWhat::kPixels, "", 100},
                                   CacheSpec{CacheWhat::kPixels, folder.string(), 100}}) {
      spec.cache = cache;
      const auto data = std::make_shared<CountedJpegs>(kSamples);
      CHECK(run(spec, data, three_epochs) == expected);
      // Between epochs, a sample may be requested again while another worker makes it, but not with one worker.
      // One additional read for the size of the first image.
      CHECK(data->reads >= static_cast<int>(kSamples) + 1);
      CHECK(data->reads < 2 * static_cast<int>(kSamples));
      PipelineSpec alone = spec;
      alone.execution.threads = 1;
      if (!cache.folder.empty()) fs::remove_all(folder);
      const auto once = std::make_shared<CountedJpegs>(kSamples);
      CHECK(run(alone, once, three_epochs) == expected);
      CHECK(once->reads == static_cast<int>(kSamples) + 1);
      // Another process, or a later run: the file exists.
      if (!cache.folder.empty()) {
        const auto later = std::make_shared<CountedJpegs>(kSamples);
        CHECK(run(spec, later, three_epochs) == expected);
        CHECK(later->reads == 1);
      }
    }
  }
  fs::remove_all(folder);
}

TEST_CASE("a cache of pixels with operations of probability 0 and 1 changes no bit of any batch") {
  PipelineSpec spec = small_spec(8);
  spec.operations = {{"resize", {{"size", {60}}}},
                     {"center_crop", {{"size", {48}}}},
                     {"horizontal_flip", {{"probability", {1.0}}}},
                     {"brightness", {{"probability", {0.0}}}},
                     {"vertical_flip", {{"probability", {0.5}}}}};
  Loader::Options three_epochs;
  three_epochs.epochs = 3;
  const auto expected = run(spec, std::make_shared<JpegSet>(40), three_epochs);
  spec.cache = CacheSpec{CacheWhat::kPixels, "", 100};
  spec.execution.threads = 1;
  const auto data = std::make_shared<CountedJpegs>(40);
  CHECK(run(spec, data, three_epochs) == expected);
  CHECK(data->reads == 41);
}

TEST_CASE("a cache that is too small for the dataset stores a part of it, and the batches do not change") {
  PipelineSpec spec = small_spec(8);
  const auto expected = run(spec, std::make_shared<JpegSet>(300), {{}, 2});
  spec.cache = {CacheWhat::kPixels, "", 1};
  const auto data = std::make_shared<CountedJpegs>(300);
  CHECK(run(spec, data, {{}, 2}) == expected);
  CHECK(data->reads < 2 * 300);
  CHECK(data->reads > 300);
}

TEST_CASE("an invalid cache setting is rejected with the name of the node") {
  const auto data = std::make_shared<JpegSet>(4);
  PipelineSpec spec = small_spec(2);
  spec.cache = {CacheWhat::kPixels, "", 0};
  CHECK_THROWS_WITH(run(spec, data, {{}, 1}), Catch::Contains("cache.limit_mb"));
  spec.cache = {CacheWhat::kEncoded, "somewhere", 1};
  CHECK_THROWS_WITH(run(spec, data, {{}, 1}), Catch::Contains("cache.folder"));
}

}  // namespace
}  // namespace unstarve
