// Padded last batches, padded samples and buckets, as received by a consumer.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/pad_batch.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/spec/check_spec.h"

namespace unstarve {
namespace {

using Catch::Matchers::Contains;
using Key = std::pair<std::uint32_t, std::uint64_t>;  // epoch, id

// Unchanged uint8 images, so that the padding can be removed.
PipelineSpec varied_spec(int batch, int threads = 3) {
  PipelineSpec spec = small_spec(batch, threads);
  spec.operations = {{"horizontal_flip", {{"probability", {0.5}}}}};
  spec.output = {ElementType::kUint8, Layout::kNhwc, {}};
  spec.batch = {batch, LastBatch::kKeep, {PadTo::kLargest, {}, 9}};
  return spec;
}

// The samples of a batch in their original sizes; all values around them must be padding.
std::map<Key, std::vector<std::uint8_t>> unpadded(const Seen& seen, std::uint8_t value) {
  std::map<Key, std::vector<std::uint8_t>> samples;
  const auto width = static_cast<std::size_t>(seen.size.width), height = static_cast<std::size_t>(seen.size.height);
  REQUIRE(seen.sizes.size() == seen.ids.size());
  bool padding = true;
  for (std::size_t i = 0; i < seen.valid; ++i) {
    std::vector<std::uint8_t> own;
    for (std::size_t y = 0; y < height; ++y)
      for (std::size_t x = 0; x < width * kChannels; ++x) {
        const std::uint8_t pixel = seen.pixels[(i * height + y) * width * kChannels + x];
        if (y < static_cast<std::size_t>(seen.sizes[i][0]) &&
            x < static_cast<std::size_t>(seen.sizes[i][1]) * kChannels)
          own.push_back(pixel);
        else
          padding = padding && pixel == value;
      }
    CHECK(samples.emplace(Key{seen.position.epoch, seen.ids[i]}, std::move(own)).second);
  }
  CHECK(padding);
  return samples;
}

std::map<Key, std::vector<std::uint8_t>> unpadded(const std::vector<Seen>& batches, std::uint8_t value) {
  std::map<Key, std::vector<std::uint8_t>> all;
  for (const Seen& seen : batches)
    for (auto& [key, pixels] : unpadded(seen, value)) CHECK(all.emplace(key, std::move(pixels)).second);
  return all;
}

std::size_t pixels_of(const std::vector<Seen>& batches) {
  std::size_t pixels = 0;
  for (const Seen& seen : batches) pixels += seen.pixels.size();
  return pixels;
}

TEST_CASE(
    "images of different sizes: a batch has the size of its largest image, and each image is unchanged in its corner") {
  const auto dataset = std::make_shared<JpegSet>(61);
  PipelineSpec alone = varied_spec(1);
  const auto expected = unpadded(run(alone, dataset, {{}, 2}), 9);
  REQUIRE(expected.size() == 2 * 61);
  for (const ExecutionOrder order : {ExecutionOrder::kExact, ExecutionOrder::kRelaxed})
    for (const int threads : {1, 4}) {
      PipelineSpec spec = varied_spec(7, threads);
      spec.execution.order = order;
      const auto seen = run(spec, dataset, {{}, 2});
      for (const Seen& batch : seen) CHECK(batch.size == largest_of(batch.sizes));
      CHECK(unpadded(seen, 9) == expected);
    }
  // To a size that all samples fit into.
  PipelineSpec fixed = varied_spec(7);
  fixed.batch.pad = {PadTo::kSize, {130, 125}, 200};
  const auto seen = run(fixed, dataset, {{}, 2});
  for (const Seen& batch : seen) CHECK(batch.size == Size{130, 125});
  CHECK(unpadded(seen, 200) == expected);
}

TEST_CASE("padding is applied after the operations: a short side of 32, mixup of images of several sizes") {
  PipelineSpec spec = varied_spec(6);
  spec.operations = {{"resize", {{"size", {32}}}}};
  spec.batch_operations = {{"mixup", {}}};
  const auto dataset = std::make_shared<JpegSet>(30, std::set<std::uint64_t>{}, 30);
  const auto seen = run(spec, dataset, {{}, 1});
  REQUIRE(seen.size() == 5);
  for (const Seen& batch : seen)
    for (const auto& [height, width] : batch.sizes) CHECK(std::min(height, width) == 32);
  spec.execution.threads = 1;
  CHECK(run(spec, dataset, {{}, 1}) == seen);
}

TEST_CASE("images larger than the padded size are bad samples; without padding, all images of another size are") {
  PipelineSpec spec = varied_spec(5);
  spec.batch.pad = {PadTo::kSize, {105, 105}, 0};
  const auto dataset = std::make_shared<JpegSet>(30);
  CHECK_THROWS_WITH(run(spec, dataset, {{}, 1}), Contains("expected at most 105x105") && Contains("batch.pad.size"));
  spec.errors.policy = OnError::kSkip;
  spec.batch.last = LastBatch::kPad;
  for (const Seen& batch : run(spec, dataset, {{}, 1})) {
    CHECK(batch.ids.size() == 5);
    CHECK(batch.valid <= 5);
  }
  spec = varied_spec(5);
  spec.batch.pad = {};
  CHECK_THROWS_WITH(run(spec, dataset, {{}, 1}), Contains("pad the images with batch(pad=True)"));
}

TEST_CASE("a padded last batch is full, reports its number of valid samples, and repeats those") {
  const auto dataset = std::make_shared<JpegSet>(45, std::set<std::uint64_t>{}, 45);
  for (const ExecutionOrder order : {ExecutionOrder::kExact, ExecutionOrder::kRelaxed})
    for (const bool varied : {false, true})
      for (const int world : {1, 3, 4}) {
        std::multiset<std::uint64_t> own;
        PipelineSpec spec = varied ? varied_spec(10) : small_spec(10);
        spec.batch_operations = {{"one_hot", {}}};
        spec.batch.last = LastBatch::kPad;
        spec.execution.order = order;
        spec.order.world = world;
        for (spec.order.rank = 0; spec.order.rank < world; ++spec.order.rank) {
          const auto seen = run(spec, dataset, {{}, 2});
          CHECK(seen.size() == 2 * ((45 + 10 * std::size_t(world) - 1) / (10 * std::size_t(world))));
          for (const Seen& batch : seen) {
            REQUIRE(batch.ids.size() == 10);
            REQUIRE(batch.targets.size() == 10 * 45);
            const std::size_t each = batch.pixels.size() / 10;
            std::size_t made = 1;  // samples before the first copy: the valid ones, and those of other ranks
            while (made < 10 && !(batch.ids[made] == batch.ids[0])) ++made;
            CHECK(made >= batch.valid);
            for (std::size_t i = 0; i < 10; ++i) {
              CHECK(batch.ids[i] == batch.ids[i % made]);
              CHECK(batch.labels[i] == static_cast<std::int64_t>(batch.ids[i]));
              CHECK(batch.targets[i * 45 + batch.ids[i]] == 1);
              CHECK(std::equal(batch.pixels.begin() + std::ptrdiff_t(i * each),
                               batch.pixels.begin() + std::ptrdiff_t((i + 1) * each),
                               batch.pixels.begin() + std::ptrdiff_t(i % made * each)));
            }
            own.insert(batch.ids.begin(), batch.ids.begin() + std::ptrdiff_t(batch.valid));
          }
        }
        REQUIRE(own.size() == 2 * 45);
        for (std::uint64_t id = 0; id < 45; ++id) CHECK(own.count(id) == 2);
      }
}

TEST_CASE("bad samples are left out, and copies of the others fill the batch") {
  PipelineSpec spec = small_spec(10);
  spec.batch.last = LastBatch::kPad;
  spec.errors.policy = OnError::kSkip;
  const auto seen = run(spec, std::make_shared<JpegSet>(25, std::set<std::uint64_t>{3, 4, 20}), {{}, 1});
  std::size_t valid = 0;
  for (const Seen& batch : seen) {
    CHECK(batch.ids.size() == 10);
    valid += batch.valid;
  }
  CHECK(valid == 22);
}

TEST_CASE("buckets need less padding, contain the same samples, and resume exactly at any position") {
  const auto dataset = std::make_shared<JpegSet>(200);
  PipelineSpec spec = varied_spec(8);
  const auto plain = run(spec, dataset, {{}, 2});
  spec.batch.bucket.window = 200;
  const auto grouped = run(spec, dataset, {{}, 2});
  CHECK(unpadded(grouped, 9) == unpadded(plain, 9));
  CHECK(static_cast<double>(pixels_of(grouped)) < 0.8 * static_cast<double>(pixels_of(plain)));
  spec.execution.threads = 1;
  spec.execution.read_ahead = 5;
  CHECK(run(spec, dataset, {{}, 2}) == grouped);
  for (const std::uint64_t batch : {1, 7, 24}) {
    const auto rest = run(spec, dataset, {{0, batch}, 2});
    CHECK(rest == std::vector(grouped.begin() + std::ptrdiff_t(batch), grouped.end()));
  }
  // Two ranks with another batch size, in the groups of the original run.
  spec.batch.bucket.run = 8;
  std::map<Key, std::vector<std::uint8_t>> left;
  for (const int rank : {0, 1}) {
    PipelineSpec part = spec;
    part.order.rank = rank;
    part.order.world = 2;
    part.batch.size = 3;
    for (const Seen& seen : run(part, dataset, {{0, 0, 5 * 8}, 2}))
      for (auto& [key, pixels] : unpadded(seen, 9)) CHECK(left.emplace(key, std::move(pixels)).second);
  }
  CHECK(left == unpadded(std::vector(grouped.begin() + 5, grouped.end()), 9));
}

TEST_CASE("slots fit the largest sample, also within a memory limit") {
  const auto dataset = std::make_shared<JpegSet>(40);
  PipelineSpec spec = varied_spec(8, 2);
  const auto expected = run(spec, dataset, {{}, 1});
  const PlannedRun planned = plan_run(spec, dataset, {2});
  const Plan& plan = planned.plan;
  Size largest;
  for (const Size& size : planned.data.samples->sizes)
    largest = {std::max(largest.width, size.width), std::max(largest.height, size.height)};
  CHECK(plan.sample_size() == largest);
  CHECK_THAT(explain(planned),
             Contains("8 x up to ") && Contains("padding     with 9 to the largest height and width"));
  spec.execution.memory_limit_mb = 8;
  CHECK(run(spec, dataset, {{}, 1}) == expected);
}

TEST_CASE("invalid batch settings are rejected with the node and the expected value") {
  const auto rejected = [](const BatchSpec& batch, ExecutionOrder order = ExecutionOrder::kExact) {
    PipelineSpec spec;
    spec.batch = batch;
    spec.execution.order = order;
    try {
      check_spec(spec);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const PadSpec largest{PadTo::kLargest, {}, 0};
  CHECK_THAT(rejected({8, LastBatch::kDrop, {PadTo::kSize, {}, 0}}), Contains("batch.pad.to: size without"));
  CHECK_THAT(rejected({8, LastBatch::kDrop, {PadTo::kLargest, {9, 9}, 0}}), Contains("batch.pad.size: found without"));
  CHECK_THAT(rejected({8, LastBatch::kDrop, {PadTo::kLargest, {}, 256}}), Contains("batch.pad.value: 256; expected 0"));
  CHECK_THAT(rejected({8, LastBatch::kDrop, {}, {100, 0}}),
             Contains("batch.bucket.window") && Contains("batch.pad.to"));
  CHECK_THAT(rejected({8, LastBatch::kDrop, largest, {7, 0}}), Contains("at least the 8 samples of a batch of all"));
  CHECK_THAT(rejected({8, LastBatch::kDrop, largest, {70, 71}}), Contains("at least the 71 samples of a group"));
  CHECK_THAT(rejected({8, LastBatch::kDrop, largest, {70, 0}}, ExecutionOrder::kRelaxed),
             Contains("expected execution.order: exact"));
  CHECK(rejected({8, LastBatch::kDrop, largest, {70, 0}}).empty());
}

}  // namespace
}  // namespace unstarve
