#include "unstarve/storage/formats/synthetic/sleep_source.h"

#include "unstarve/core/format_error.h"
#include "unstarve/core/random.h"
#include "unstarve/storage/source/source.h"
#include "unstarve/storage/source/source_options.h"

namespace unstarve {
namespace {

constexpr int kClasses = 10;
constexpr std::uint64_t kVariants = 256;

}  // namespace

SleepSource::SleepSource(SleepOptions options, Clock& clock)
    : options_(options), clock_(clock), fields_{{"image", FieldKind::kPixels}, {"label", FieldKind::kLabel}} {
  if (options.images == 0) throw argument_error("sleep source: 0 images; expected at least 1");
  if (options.size < 1) {
    throw argument_error("sleep source: size {}; expected at least 1", options.size);
  }
  if (options.sleep_ns < 0 || options.straggle_ns < 0) throw argument_error("sleep source: negative sleep time");
  if (options.once && options.images > kMostImagesOnce)
    throw argument_error("sleep source: {} images with once=1; expected up to {}", options.images, kMostImagesOnce);
  if (options.once) read_ = std::vector<std::atomic<bool>>(options.images);
  for (int label = 0; label < kClasses; ++label) classes_.push_back(std::to_string(label));
  pixels_.resize(plane() * kChannels + kVariants);
  Random random(0, 0, 0, 0);
  for (std::uint8_t& value : pixels_) value = static_cast<std::uint8_t>(random.bits());
}

std::uint64_t SleepSource::stored_bytes() const { return options_.images * plane() * kChannels; }

void SleepSource::read(std::uint64_t id, RecordBuffer& record) const {
  const bool straggles = options_.straggle_every > 0 &&
                         Random(0, 0, id, 0).below(static_cast<std::uint32_t>(options_.straggle_every)) == 0;
  if (!options_.once || !read_[id].exchange(true))
    clock_.sleep_until(clock_.now_ns() + (straggles ? options_.straggle_ns : options_.sleep_ns));
  record.values.resize(2);
  record.values[0] = {{},
                      {pixels_.data() + id % kVariants, options_.size, options_.size, options_.size, 1,
                       static_cast<std::ptrdiff_t>(plane())},
                      0};
  record.values[1] = {{}, {}, static_cast<std::int64_t>(id % kClasses)};
}

bool recognises_sleep(const Source& source) { return SourceOptions::names(source.text, "sleep"); }

std::shared_ptr<const Dataset> open_sleep(const Source& source, const std::string& split) {
  if (!split.empty()) {
    throw argument_error("open {}: no split '{}'; a sleep source has none", source.text, split);
  }
  SourceOptions given(source.text);
  SleepOptions options;
  const std::uint64_t microseconds = given.take("us", 0, 0, 60'000'000);
  const std::uint64_t milliseconds = given.take("ms", microseconds > 0 ? 0 : 5, 0, 60'000);
  options.sleep_ns = static_cast<std::int64_t>(milliseconds * 1000 + microseconds) * 1000;
  options.straggle_every = given.take("straggle_every", 0, 0, 1'000'000);
  options.straggle_ns = static_cast<std::int64_t>(given.take("straggle_ms", 0, 0, 60'000)) * 1'000'000;
  options.images = given.take("images", options.images, 1, std::uint64_t{1} << 40);
  options.once = given.take("once", 0, 0, 1) == 1;
  options.size = static_cast<int>(given.take("size", 32, 1, 8192));
  given.reject_unknown();
  return std::make_shared<SleepSource>(options);
}

}  // namespace unstarve
