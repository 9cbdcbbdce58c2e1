// Gathered batches compared with those of a loader, bit by bit.

#include "unstarve/train/resident_source.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/storage/open.h"
#include "unstarve/train/loader_source.h"
#include "unstarve/train/testing/idle_trainer.h"

namespace unstarve {
namespace {

constexpr const char* kImages = "synthetic:classes=4,images=150,size=32,seed=3";

// Keeps images in host memory and gathers by the definition of HostBatch::gather.
class KeepingTrainer final : public testing::IdleTrainer {
 public:
  void reserve_images(std::int64_t count, Size size, const Rgb& border) override {
    size_ = size;
    border_ = border;
    pixels_.assign(static_cast<std::size_t>(count) * image_bytes(), 0);
  }
  void keep_images(std::int64_t first, const HostBatch& batch) override {
    std::copy_n(batch.pixels, batch.labels.size() * image_bytes(),
                pixels_.begin() + first * static_cast<std::ptrdiff_t>(image_bytes()));
  }
  [[nodiscard]] std::vector<std::uint8_t> gathered(const HostBatch& batch) const {
    const auto n = batch.labels.size(), height = static_cast<std::size_t>(batch.size.height),
               width = static_cast<std::size_t>(batch.size.width);
    std::vector<std::uint8_t> to;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t y = 0; y < height; ++y)
        for (std::size_t x = 0; x < width; ++x)
          for (std::size_t c = 0; c < kChannels; ++c)
            to.push_back(value(batch.gather[i], batch.gather[n + i * height + y],
                               batch.gather[n * (1 + height) + i * width + x], c));
    return to;
  }

 private:
  [[nodiscard]] std::size_t image_bytes() const { return static_cast<std::size_t>(size_.width * size_.height) * 3; }
  [[nodiscard]] std::uint8_t value(std::int32_t image, std::int32_t row, std::int32_t column, std::size_t c) const {
    if (row == size_.height || column == size_.width) return border_[c];
    return pixels_.at(static_cast<std::size_t>(image) * image_bytes() +
                      static_cast<std::size_t>(row * size_.width + column) * kChannels + c);
  }

  Size size_;
  Rgb border_{};
  std::vector<std::uint8_t> pixels_;
};

PipelineSpec resident_spec(const std::string& path = kImages) {
  PipelineSpec spec;
  spec.source.path = path;
  spec.operations = training_operations(32, {32, 32}, Augmentation::kAlternating);
  spec.output = {ElementType::kUint8, Layout::kNhwc, kCifar10Normalisation};
  spec.batch = {16, LastBatch::kDrop};
  spec.execution = {2, 2, false};
  return spec;
}

struct SeenBatch {
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> labels;
  std::int64_t epoch;
  RankProgress after;
  friend bool operator==(const SeenBatch&, const SeenBatch&) = default;
};

OrderBasis basis_of(const PipelineSpec& spec, const Dataset& dataset) {
  return {choose_samples(spec, dataset, 1), {}, {}};
}

std::vector<SeenBatch> loaded(const PipelineSpec& spec, const OrderBasis& basis, const EpochPosition& start,
                              int count) {
  const auto device = open_device("cpu");
  LoaderSource source(
      std::make_unique<Loader>(spec, open_sources(spec), *device, Loader::Options{start, 0, false, basis}));
  std::vector<SeenBatch> seen;
  for (HostBatch batch; std::ssize(seen) < count && source.next(batch);) {
    const auto bytes = batch.labels.size() * static_cast<std::size_t>(batch.size.width * batch.size.height) * kChannels;
    seen.push_back({{batch.pixels, batch.pixels + bytes},
                    {batch.labels.begin(), batch.labels.end()},
                    batch.epoch,
                    source.loader().progress()});
  }
  return seen;
}

std::vector<SeenBatch> kept(const PipelineSpec& spec, const OrderBasis& basis, const EpochPosition& start, int count) {
  const auto device = open_device("cpu");
  const auto dataset = open_sources(spec);
  const PipelineSpec images = resident_images_of(spec);
  Loader loader(images, dataset, *device, {{}, 1, false, {samples_of_sources(images, *dataset, 1), {}, {}}});
  KeepingTrainer trainer;
  ResidentSource source(trainer, {spec, basis, start}, loader, 0);
  std::vector<SeenBatch> seen;
  for (HostBatch batch; std::ssize(seen) < count && source.next(batch);)
    seen.push_back(
        {trainer.gathered(batch), {batch.labels.begin(), batch.labels.end()}, batch.epoch, source.progress()});
  return seen;
}

// Over several epochs, and from each position of the first one.
void check_same_batches(const PipelineSpec& spec, std::vector<EpochShare> shares = {}) {
  REQUIRE(why_not_resident(spec).empty());
  OrderBasis basis = basis_of(spec, *open_sources(spec));
  basis.shares = std::move(shares);
  const auto expected = loaded(spec, basis, {}, 25);
  REQUIRE(expected.size() == 25);
  CHECK(kept(spec, basis, {}, 25) == expected);
  for (int taken = 1; taken < 11; taken += 3) {
    const RankProgress progress = expected[static_cast<std::size_t>(taken) - 1].after;
    std::vector<RankProgress> ranks;
    for (int rank = 0; rank < spec.order.world; ++rank) ranks.push_back(progress);
    const EpochPosition start = position_after(ranks, spec.order, spec.batch, basis.samples->size());
    CHECK(kept(spec, basis, start, 12) == loaded(spec, basis, start, 12));
  }
}

}  // namespace

TEST_CASE("batches of kept images are those of a loader, from every position") {
  PipelineSpec spec = resident_spec();
  SECTION("alternating flip and reflected borders") {}
  SECTION("flip and black borders") { spec.operations = training_operations(32, {32, 32}); }
  SECTION("operations before the first random one") {
    spec.operations.insert(spec.operations.begin(), {{"resize", {{"size", {28}}}}, {"center_crop", {{"size", {24}}}}});
  }
  SECTION("no operations, storage order and a short last batch") {
    spec.operations.clear();
    spec.order.shuffle = false;
    spec.batch.last = LastBatch::kKeep;
  }
  SECTION("the second of three ranks") {
    spec.order.rank = 1;
    spec.order.world = 3;
    spec.batch = {7, LastBatch::kKeep};
  }
  SECTION("some samples, twice in an epoch, with another seed") {
    spec.order.repeat = 2;
    spec.order.seed = 77;
    spec.source.filter.labels = {"0", "2"};
  }
  SECTION("a mixture by weights") {
    SourceSpec first = spec.source, second = spec.source;
    first.weight = 3;
    second.path = "synthetic:classes=4,images=90,size=32,seed=8";
    second.weight = 1;
    second.take = 40;
    spec.source = {};
    spec.mix = {first, second};
  }
  check_same_batches(spec);
}

TEST_CASE("early epochs of kept images may have a part of the samples") {
  check_same_batches(resident_spec(), {{0, 0.5}, {1, 1}});
}

TEST_CASE("images that need more memory than the limit are not kept, and the message has both") {
  const PipelineSpec spec = resident_spec(), images = resident_images_of(spec);
  const auto device = open_device("cpu");
  const auto dataset = open_sources(spec);
  Loader loader(images, dataset, *device, {{}, 1, false, {samples_of_sources(images, *dataset, 1), {}, {}}});
  testing::IdleTrainer trainer;
  CHECK_THROWS_WITH(ResidentSource(trainer, {spec, basis_of(spec, *dataset), {}}, loader, 400'000),
                    Catch::Contains("150 images of 32 x 32 on the device: they need 0.5 MB; expected at most 0.4 MB"));
}

TEST_CASE("a stop ends the decoding of images") {
  const PipelineSpec spec = resident_spec(), images = resident_images_of(spec);
  const auto device = open_device("cpu");
  const auto dataset = open_sources(spec);
  Loader loader(images, dataset, *device, {{}, 1, false, {samples_of_sources(images, *dataset, 1), {}, {}}});
  testing::IdleTrainer trainer;
  std::stop_source stop;
  stop.request_stop();
  CHECK_THROWS_WITH(ResidentSource(trainer, {spec, basis_of(spec, *dataset), {}}, loader, 0, stop.get_token()),
                    Catch::Contains("stopped"));
}

TEST_CASE("pipelines whose batches cannot be gathered have a reason") {
  const auto reason = [](auto&& change) {
    PipelineSpec spec = resident_spec();
    change(spec);
    return why_not_resident(spec);
  };
  CHECK(reason([](PipelineSpec&) {}).empty());
  using Catch::Contains;
  CHECK_THAT(reason([](PipelineSpec& s) {
               s.operations = training_operations(224, {500, 375});
             }),
             Contains("pipeline.operations[0]: found random_resized_crop"));
  CHECK_THAT(reason([](PipelineSpec& s) { s.batch_operations = {{"mixup", {}}}; }), Contains("found mixup"));
  CHECK_THAT(reason([](PipelineSpec& s) { s.output.type = ElementType::kFloat32; }), Contains("output.type"));
  CHECK_THAT(reason([](PipelineSpec& s) { s.batch.pad.to = PadTo::kLargest; }), Contains("batch.pad"));
  CHECK_THAT(reason([](PipelineSpec& s) { s.batch.last = LastBatch::kPad; }), Contains("batch.last"));
  CHECK_THAT(reason([](PipelineSpec& s) { s.errors.policy = OnError::kSkip; }), Contains("errors.policy"));
}

}  // namespace unstarve
