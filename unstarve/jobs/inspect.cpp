#include "unstarve/jobs/inspect.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/core/thread_pool.h"
#include "unstarve/core/topology.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

// The finding of one record, stored per record so that the result does not depend on the thread.
struct Finding {
  Size size;  // width 0: corrupt
  std::int32_t label = -1;
  Encoding encoding = Encoding::kUnknown;  // kUnknown and not corrupt: raw pixels
  std::uint64_t bytes = 0;
};

// Reads and decodes records; one per thread.
class Examiner {
 public:
  explicit Examiner(const Dataset& data)
      : data_(data),
        encoded_(data.field_index(FieldKind::kEncodedImage)),
        pixels_(data.field_index(FieldKind::kPixels)),
        label_(data.field_index(FieldKind::kLabel)) {}

  // The reason if the record cannot be used.
  std::optional<std::string> examine(std::uint64_t id, Finding& finding) {
    try {
      data_.read(id, record_);
      examine_record(finding);
    } catch (const Error& error) {
      // A record that is too large for memory counts as corrupt; other errors are not caused by the record.
      if (error.kind() != ErrorKind::kInput && error.kind() != ErrorKind::kIo && error.kind() != ErrorKind::kMemory)
        throw;
      return error.what();
    }
    return std::nullopt;
  }

 private:
  const Value& value(int field) const { return record_.values[static_cast<std::size_t>(field)]; }

  void examine_record(Finding& finding) {
    try {
      if (label_ >= 0) take_label(finding);
      if (encoded_ >= 0)
        decode(finding);
      else if (pixels_ >= 0)
        check_pixels(value(pixels_).pixels, finding);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInput) check_maps(record_);  // zeros of a lost page would look like damage
      throw;
    }
  }

  void take_label(Finding& finding) {
    const std::int64_t label = value(label_).integer;
    const std::size_t classes = data_.classes().size();
    if (classes == 0) return;
    if (label < 0 || label >= static_cast<std::int64_t>(classes)) {
      throw Error(ErrorKind::kInput,
                  "label " + std::to_string(label) + " is out of range; expected 0 to " + std::to_string(classes - 1));
    }
    finding.label = static_cast<std::int32_t>(label);
  }

  void decode(Finding& finding) {
    const auto bytes = value(encoded_).bytes;
    finding.bytes = bytes.size();
    const ImageHeader header = decoder_.open(bytes);
    decoder_.decode({}, image_);
    check_maps(record_);
    finding.encoding = header.encoding;
    finding.size = header.size;
  }

  // Raw pixels are always valid; this reads them to check that they exist.
  void check_pixels(const PixelView& view, Finding& finding) const {
    for (int c = 0; c < kChannels; ++c) {
      for (int y = 0; y < view.height; ++y) {
        const std::uint8_t* first = view.data + y * view.row_stride + c * view.channel_stride;
        static_cast<void>(*static_cast<const volatile std::uint8_t*>(first));
        static_cast<void>(*static_cast<const volatile std::uint8_t*>(first + (view.width - 1) * view.pixel_stride));
      }
    }
    check_maps(record_);
    finding.bytes = static_cast<std::uint64_t>(view.width) * static_cast<std::uint64_t>(view.height) * kChannels;
    finding.size = view.size();
  }

  const Dataset& data_;
  int encoded_;
  int pixels_;
  int label_;
  RecordBuffer record_;
  Decoder decoder_;
  Image image_;
};

struct Findings {
  std::vector<Finding> records;  // by position in the sample set
  std::vector<CorruptRecord> corrupt;
};

Findings examine_all(const Dataset& data, const SampleSet& samples, int threads, const InspectProgress& progress) {
  constexpr std::uint64_t kChunk = 16;  // some ten milliseconds of photographs
  const std::uint64_t total = samples.size();
  Findings findings;
  findings.records.resize(total);
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;  // guards `corrupt`, `done` and `progress`
  std::uint64_t done = 0;
  ThreadPool pool(threads);
  for (int worker = 0; worker < threads; ++worker) {
    pool.submit([&] {
      Examiner examiner(data);
      try {
        for (std::uint64_t first = next.fetch_add(kChunk); first < total; first = next.fetch_add(kChunk)) {
          const std::uint64_t end = std::min(first + kChunk, total);
          for (std::uint64_t position = first; position < end; ++position) {
            const std::uint64_t id = samples.id(position);
            const std::optional<std::string> reason = examiner.examine(id, findings.records[position]);
            if (!reason) continue;
            const std::lock_guard lock(mutex);
            findings.corrupt.push_back({id, data.record_location(id), *reason});
          }
          const std::lock_guard lock(mutex);
          done += end - first;
          if (progress) progress(done, total);
        }
      } catch (...) {
        next = total;  // stops the other threads
        throw;
      }
    });
  }
  pool.wait();
  std::sort(findings.corrupt.begin(), findings.corrupt.end(),
            [](const CorruptRecord& a, const CorruptRecord& b) { return a.id < b.id; });
  return findings;
}

SizeSummary summarise(const std::vector<Finding>& findings) {
  std::vector<Size> sizes;
  for (const Finding& finding : findings) {
    if (finding.size.width > 0) sizes.push_back(finding.size);
  }
  if (sizes.empty()) return {};
  std::sort(sizes.begin(), sizes.end(), [](const Size& a, const Size& b) {
    const std::int64_t pixels_a = std::int64_t{a.width} * a.height;
    const std::int64_t pixels_b = std::int64_t{b.width} * b.height;
    return pixels_a != pixels_b ? pixels_a < pixels_b : a.width < b.width;
  });
  return {sizes.front(), sizes[(sizes.size() - 1) / 2], sizes.back()};
}

}  // namespace

InspectResult inspect_dataset(const Dataset& data, const std::string& path, int threads,
                              const InspectProgress& progress, const SampleSet* samples) {
  if (threads < 0) throw Error(ErrorKind::kArgument, "inspect: " + std::to_string(threads) + " threads");
  const SampleSet everything(data.size());
  if (samples == nullptr) samples = &everything;
  Findings findings = examine_all(data, *samples, threads > 0 ? threads : read_topology().usable(), progress);

  InspectResult result;
  result.path = shown_name(path);
  result.format = data.format();
  result.samples = samples->size();
  result.records = data.size();
  for (const std::string& name : data.classes()) result.classes.push_back({name, 0});
  std::uint64_t read_bytes = 0;
  for (const Finding& finding : findings.records) {
    read_bytes += finding.bytes;
    if (finding.label >= 0) ++result.classes[static_cast<std::size_t>(finding.label)].samples;
    if (finding.size.width == 0) continue;
    ++result.encodings[finding.encoding == Encoding::kUnknown ? "raw" : to_string(finding.encoding)];
  }
  result.bytes = data.stored_bytes() > 0 && result.samples == result.records ? data.stored_bytes() : read_bytes;
  result.sizes = summarise(findings.records);
  result.corrupt = std::move(findings.corrupt);
  result.notes = data.notes();
  return result;
}

InspectResult run_inspect(const std::string& path, const std::string& split, int threads,
                          const InspectProgress& progress) {
  return inspect_dataset(*open_dataset(path, split), path, threads, progress);
}

}  // namespace unstarve
