#include "unstarve/storage/formats/recordio/recordio.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/storage/formats/recordio/recordio_parts.h"
#include "unstarve/storage/index/record_files.h"
#include "unstarve/storage/source/first_bytes.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {
namespace {

constexpr std::size_t kWindowBytes = std::size_t{1} << 20;

bool is_head(std::span<const std::uint8_t> bytes) noexcept {
  return bytes.size() >= kRecordioHeadBytes && is_recordio_magic(bytes.data()) &&
         load_little<std::uint32_t>(bytes.data() + 4) >> 29 <= 3;
}

bool begins_record(std::span<const std::uint8_t> bytes) noexcept {
  return is_head(bytes) && parse_recordio_head(bytes).begins();
}

// Scans the records of a file and continues after damage.
class RecordioScan {
 public:
  RecordioScan(ForwardBytes& bytes, RecordSink& sink, bool labelled)
      : bytes_(bytes), sink_(sink), labelled_(labelled) {}

  // Scans to the end. Throws what the bytes and the sink throw.
  void run();

 private:
  // Whether the length of a part is right, judged by what follows it.
  enum class Part { kGood, kTruncated, kWrongLength };

  bool step();
  [[nodiscard]] Part check_part(std::span<const std::uint8_t> chunk, const RecordioHead& head,
                                std::uint64_t& resume) const;
  void add(std::uint64_t end, std::span<const std::uint8_t> record);
  void skip_damage(std::uint64_t from, std::string_view reason);

  ForwardBytes& bytes_;
  RecordSink& sink_;
  bool labelled_;
  std::uint64_t offset_ = 0;  // of the current record
  std::uint64_t ranges_ = 0;  // records of InsightFace without an image
  std::vector<std::uint8_t> parts_;
};

void RecordioScan::run() {
  while (step()) {
  }
  if (ranges_ == 0) return;
  emit_notice(fmt::format("open recordio: left out {} records without an image, with the ranges of ids of InsightFace",
                          ranges_));
}

// Reads one record or one damaged range; returns false at the end.
bool RecordioScan::step() {
  const std::span<const std::uint8_t> begin = bytes_.at(offset_, kRecordioHeadBytes);
  if (begin.empty()) return false;
  if (!begins_record(begin)) {
    skip_damage(offset_, "not a RecordIO record");
    return true;
  }
  RecordioHead head = parse_recordio_head(begin);
  parts_.clear();
  for (std::uint64_t part_offset = offset_;;) {
    const std::span<const std::uint8_t> chunk = bytes_.at(part_offset, head.stored_bytes() + kRecordioHeadBytes);
    std::uint64_t resume = 0;
    const Part part = check_part(chunk, head, resume);
    if (part != Part::kGood) {
      const std::uint64_t from = std::exchange(offset_, part_offset + resume);
      sink_.add_damaged(from, offset_ - from,
                        part == Part::kTruncated ? "truncated: the file ends inside the record"
                                                 : "the length of the record is wrong");
      return true;
    }
    const std::span<const std::uint8_t> stored = chunk.first(head.stored_bytes());
    if (head.flag == RecordioFlag::kWhole) {
      add(part_offset + stored.size(), stored);
      return true;
    }
    parts_.insert(parts_.end(), stored.begin(), stored.end());
    part_offset += stored.size();
    if (head.ends()) {
      add(part_offset, parts_);
      return true;
    }
    const std::span<const std::uint8_t> next = chunk.subspan(stored.size());
    if (!is_head(next) || parse_recordio_head(next).begins() || parts_.size() > kMaxRecordBytes) {
      const std::uint64_t from = std::exchange(offset_, part_offset);
      sink_.add_damaged(from, offset_ - from, "the last part of the record is missing");
      return true;
    }
    head = parse_recordio_head(next);
  }
}

// `chunk` is the part and the following head, or less at the end of the file. If the part is not good, `resume` is set
// to the offset in `chunk` where the scan continues. A magic inside of the part means that the length is wrong, because
// a writer never leaves one there.
RecordioScan::Part RecordioScan::check_part(std::span<const std::uint8_t> chunk, const RecordioHead& head,
                                            std::uint64_t& resume) const {
  const std::uint64_t stored = head.stored_bytes();
  if (chunk.size() == stored || (chunk.size() > stored && is_head(chunk.subspan(stored)))) return Part::kGood;
  const std::uint64_t available = std::min<std::uint64_t>(chunk.size(), stored);
  for (std::size_t offset = kRecordioHeadBytes; offset + kRecordioHeadBytes <= available; offset += 4) {
    if (!is_head(chunk.subspan(offset))) continue;
    resume = offset;
    return Part::kWrongLength;
  }
  resume = available;
  return available < stored ? Part::kTruncated : Part::kGood;  // kGood: the next part is damaged, not this one
}

void RecordioScan::add(std::uint64_t end, std::span<const std::uint8_t> stored) {
  const std::uint64_t begin = std::exchange(offset_, end);
  try {
    std::vector<std::uint8_t> buffer(is_recordio_in_parts(stored) ? stored.size() : 0);
    const std::span<const std::uint8_t> record = join_recordio(stored, buffer.data());
    if (is_insightface_range(record)) {
      ++ranges_;
      return;
    }
    const RecordioImage image = parse_recordio_image(record, labelled_);
    sink_.add({.offset = begin,
               .length = end - begin,
               .label = image.label,
               .encoded = image.encoded,
               .no_label = image.no_label});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
    sink_.add_damaged(begin, end - begin, error.what());
  }
}

// Reports the damaged range and continues at the next record.
void RecordioScan::skip_damage(std::uint64_t from, std::string_view reason) {
  for (offset_ += bytes_.at(offset_, 4).size();;) {
    const std::span<const std::uint8_t> window = bytes_.at(offset_, kWindowBytes);
    std::size_t skipped = 0;
    while (skipped + kRecordioHeadBytes <= window.size() && !begins_record(window.subspan(skipped))) skipped += 4;
    const bool found = skipped + kRecordioHeadBytes <= window.size();
    offset_ += found || window.size() == kWindowBytes ? skipped : window.size();
    if (found || window.size() < kWindowBytes) break;
  }
  sink_.add_damaged(from, offset_ - from, reason);
}

class Recordio final : public RecordFormat {
 public:
  explicit Recordio(bool labelled) : labelled_(labelled) {}

  [[nodiscard]] std::string name() const override { return "recordio"; }
  [[nodiscard]] int scan_version() const override { return 3; }
  [[nodiscard]] std::string variant() const override { return labelled_ ? "" : "label=none"; }
  void scan(ForwardBytes& bytes, RecordSink& sink) const override { RecordioScan(bytes, sink, labelled_).run(); }

  void fill(std::span<const std::uint8_t> stored, const IndexRecord&, AlignedBytes& buffer,
            Value& image) const override {
    if (is_recordio_in_parts(stored) && stored.data() != buffer.data()) {
      buffer.reserve_discard(stored.size() + kReadableAfter);
    }
    image.bytes = parse_recordio_image(join_recordio(stored, buffer.data()), labelled_).encoded;
  }

 private:
  bool labelled_;
};

bool is_recordio_name(std::string_view name) { return ends_in(name, ".rec"); }

}  // namespace

std::shared_ptr<const RecordFormat> recordio_format(bool labelled) { return std::make_shared<Recordio>(labelled); }

bool recognises_recordio(const Source& source) {
  return source.folder ? folder_begins(source, is_recordio_name, begins_as_recordio)
                       : begins_as_recordio(source.content);
}

std::shared_ptr<const Dataset> open_recordio(const Source& source, const std::string& split) {
  return std::make_shared<RecordFiles>(choose_shards(source, split, is_recordio_name),
                                       recordio_format(!source.declines_labels));
}

}  // namespace unstarve
