#pragma once
// For the loader's tests: a dataset of JPEG files in memory, a small spec, and the batches that a consumer receives.

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/core/clock.h"
#include "unstarve/core/profile.h"
#include "unstarve/core/random.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/order/progress.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

// JPEG files of varied sizes in memory; ids of `bad` hold bytes that are no image. Tests derive other sets from
// it.
class JpegSet : public Dataset {
 public:
  // Labels are the ids; `classes` is the number of class names.
  explicit JpegSet(std::uint64_t count, std::set<std::uint64_t> bad = {}, std::uint64_t classes = 0) {
    for (std::uint64_t i = 0; i < classes; ++i) classes_.push_back("class " + std::to_string(i));
    Random random(1, 0, 0, 0);
    for (std::uint64_t id = 0; id < count; ++id) {
      Image image({static_cast<int>(40 + random.below(80)), static_cast<int>(40 + random.below(80))});
      for (std::size_t i = 0; i < image.bytes(); ++i)
        image.data()[i] = static_cast<std::uint8_t>((i * (id + 3)) / 7 + random.below(9));
      files_.push_back(encode_jpeg(image.view(), 85, id % 3 ? ChromaSampling::k420 : ChromaSampling::k444));
      if (bad.contains(id)) files_.back().assign(100, std::uint8_t{7});
    }
  }
  std::string format() const override { return "jpeg files in memory"; }
  std::uint64_t size() const override { return files_.size(); }
  const std::vector<Field>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::uint64_t stored_bytes() const override { return 0; }
  RecordLocation record_location(std::uint64_t id) const override { return {.file = "file-" + std::to_string(id)}; }
  void read(std::uint64_t id, RecordBuffer& record) const override {
    record.values.resize(2);
    record.values[0].bytes = files_[static_cast<std::size_t>(id)];
    record.values[1].integer = static_cast<std::int64_t>(id);
  }

 private:
  std::vector<std::vector<std::uint8_t>> files_;
  std::vector<Field> fields_{{"image", FieldKind::kEncodedImage}, {"label", FieldKind::kLabel}};
  std::vector<std::string> classes_;
};

// Counts the records that are read.
class CountedSet : public JpegSet {
 public:
  using JpegSet::JpegSet;
  void read(std::uint64_t id, RecordBuffer& record) const override {
    reads.fetch_add(1);
    JpegSet::read(id, record);
  }
  mutable std::atomic<std::uint64_t> reads{0};
};

inline PipelineSpec small_spec(int batch, int threads = 3, int prefetch = 2) {
  PipelineSpec spec;
  spec.operations = training_operations(48, {48, 48});
  spec.output = {ElementType::kFloat32, Layout::kNchw, kImagenetNormalisation};
  spec.batch = {batch, LastBatch::kDrop};
  spec.execution = {threads, prefetch, true};
  return spec;
}

// The data of one batch that a consumer receives.
struct Seen {
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> labels;
  std::vector<std::uint64_t> ids;
  std::vector<float> targets;
  EpochPosition position;
  std::size_t valid = 0;
  Size size;
  std::vector<PixelExtent> sizes;
  friend bool operator==(const Seen&, const Seen&) = default;
};

inline Seen see(const Batch& batch) {
  return {{batch.pixels(), batch.pixels() + batch.pixel_bytes()},
          {batch.labels().begin(), batch.labels().end()},
          {batch.ids().begin(), batch.ids().end()},
          {batch.targets().begin(), batch.targets().end()},
          {batch.epoch(), batch.index()},
          batch.valid(),
          batch.size(),
          {batch.sizes().begin(), batch.sizes().end()}};
}

inline std::vector<Seen> run(const PipelineSpec& spec, std::shared_ptr<const Dataset> dataset,
                             Loader::Options options) {
  const auto device = open_device("cpu");
  Loader loader(spec, std::move(dataset), *device, options);
  std::vector<Seen> seen;
  while (auto batch = loader.next()) seen.push_back(see(*batch));
  return seen;
}

}  // namespace unstarve
