#include "unstarve/storage/formats/synthetic/synthetic.h"

#include <algorithm>
#include <cstring>

#include "unstarve/core/format_error.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/core/thread_pool.h"
#include "unstarve/storage/source/source.h"
#include "unstarve/storage/source/source_options.h"

namespace unstarve {

std::uint64_t SyntheticDataset::image_bytes() const {
  return static_cast<std::uint64_t>(options_.size) * static_cast<std::uint64_t>(options_.size) * kChannels;
}

SyntheticDataset::SyntheticDataset(SyntheticOptions options, int threads)
    : options_(options), fields_{{"image", FieldKind::kPixels}, {"label", FieldKind::kLabel}} {
  if (options.images == 0) throw argument_error("create synthetic dataset: 0 images; expected at least 1");
  if (options.size < 8 || options.size > 8192) {
    throw argument_error("create synthetic dataset: size {}; expected 8 to 8192 pixels", options.size);
  }
  if (options.set.classes < 1 || options.set.classes > kSyntheticMaxClasses) {
    throw argument_error("create synthetic dataset: {} classes; expected 1 to {}", options.set.classes,
                         kSyntheticMaxClasses);
  }
  if (options.images > kSyntheticMaxBytes / image_bytes()) {
    throw memory_error(
        "create synthetic dataset: {} images of {} x {} pixels exceed the limit of {} bytes in memory. Write them to "
        "files with `unstarve synth`.",
        options.images, options.size, options.size, kSyntheticMaxBytes);
  }
  for (int label = 0; label < options.set.classes; ++label) {
    classes_.push_back(synthetic_class_name(label, options.set.classes));
  }
  pixels_.reserve_discard(stored_bytes() + 64);  // vector code may read past the last pixel
  const auto draw = [this](std::uint64_t first, std::uint64_t end) {
    Image image;
    for (std::uint64_t id = first; id < end; ++id) {
      draw_synthetic(options_.set, options_.begin + id, {options_.size, options_.size}, image);
      std::memcpy(pixels_.data() + id * image_bytes(), image.data(), image_bytes());
    }
  };
  if (threads <= 1) {
    draw(0, options.images);
    return;
  }
  ThreadPool pool(threads);
  constexpr std::uint64_t kChunk = 64;  // a few milliseconds of work
  for (std::uint64_t first = 0; first < options.images; first += kChunk) {
    pool.submit([&draw, first, end = std::min(first + kChunk, options.images)] { draw(first, end); });
  }
  pool.wait();
}

void SyntheticDataset::read(std::uint64_t id, RecordBuffer& record) const {
  const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(options_.size) * kChannels;
  record.values.resize(2);
  record.values[0] = {{}, {pixels_.data() + id * image_bytes(), options_.size, options_.size, row, kChannels, 1}, 0};
  record.values[1] = {{}, {}, synthetic_label(options_.set, options_.begin + id)};
}

bool recognises_synthetic(const Source& source) { return SourceOptions::names(source.text, "synthetic"); }

std::shared_ptr<const Dataset> open_synthetic(const Source& source, const std::string& split) {
  if (!split.empty() && split != "train" && split != "test") {
    throw argument_error("open {}: no split '{}'; a synthetic dataset has train and test", source.text, split);
  }
  SourceOptions given(source.text);
  SyntheticOptions options;
  options.set.classes = static_cast<int>(given.take("classes", 10, 1, kSyntheticMaxClasses));
  options.images = given.take("images", options.images, 1, kSyntheticTestBegin);
  options.size = static_cast<int>(given.take("size", 32, 8, 8192));
  options.set.seed = given.take("seed", 1, 0, ~std::uint64_t{0});
  given.reject_unknown();
  if (split == "test") {
    // A multiple of the number of classes, so that labels begin with 0, 1, 2, ...
    const auto classes = static_cast<std::uint64_t>(options.set.classes);
    options.begin = (kSyntheticTestBegin + classes - 1) / classes * classes;
  }
  return std::make_shared<SyntheticDataset>(options, read_topology().usable());
}

}  // namespace unstarve
