#include "unstarve/storage/index/record_index.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/file.h"
#include "unstarve/core/format_error.h"
#include "unstarve/core/map_guard.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/index/index_paths.h"
#include "unstarve/storage/source/first_bytes.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// Bytes of output: enough to distinguish a compressed stream from bytes that begin like one.
constexpr std::size_t kProbeBytes = 1024;

std::string made_by(const RecordFormat& format) {
  return fmt::format("{} {} {}", format.name(), format.scan_version(), format.variant());
}

// A valid index at `path`; nothing if it must be built.
std::optional<ShardIndex> read_saved(const fs::path& path, const SourceStamp& data, const std::string& maker) {
  try {
    std::shared_ptr<const IndexView> view = open_index(path.string());
    if (view->data() != data || !is_made_by(*view, maker)) return std::nullopt;
    mark_index_used(path);
    return ShardIndex(std::move(view));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput && error.kind() != ErrorKind::kIo) throw;
    return std::nullopt;
  }
}

ShardSummary read_summary(const IndexView& view) {
  constexpr std::size_t kFront = 20;
  const auto bytes = view.part("summary");
  if (!bytes || bytes->size() < kFront) throw input_error("read index: it has no summary");
  const std::uint8_t* const p = bytes->data();
  ShardSummary summary;
  summary.compression = static_cast<Compression>(load_little<std::uint32_t>(p));
  summary.labels = static_cast<LabelKind>(load_little<std::uint32_t>(p + 4));
  summary.classes = load_little<std::uint32_t>(p + 8);
  summary.damaged = load_little<std::uint64_t>(p + 12);
  for (std::size_t at = kFront; at < bytes->size();) {
    if (bytes->size() - at < 8) throw input_error("read index: its class names are truncated");
    const std::uint32_t number = load_little<std::uint32_t>(p + at);
    const std::uint32_t length = load_little<std::uint32_t>(p + at + 4);
    at += 8;
    if (bytes->size() - at < length || number >= summary.classes) {
      throw input_error("read index: its class names are damaged");
    }
    summary.class_names.emplace_back(number, std::string(reinterpret_cast<const char*>(p + at), length));
    at += length;
  }
  if (summary.compression > Compression::kZstd || summary.labels > LabelKind::kTexts || summary.classes > kMaxClasses) {
    throw input_error("read index: its summary is damaged");
  }
  return summary;
}

Compression compression_of(const ByteSource& shard, const RecordFormat& format) {
  std::array<std::uint8_t, 4096> head;
  const auto front =
      std::span(head).first(static_cast<std::size_t>(std::min<std::uint64_t>(head.size(), shard.size())));
  shard.read(0, front);
  if (format.begins_plain(front)) return Compression::kNone;
  const Compression compression = detect_compression(front);
  // The magic has four bytes, so it is never a coincidence. The scan reports damage.
  if (compression == Compression::kZstd) return compression;
  return inflate_head(shard, front, kProbeBytes) ? compression : Compression::kNone;
}

// A shard of another known format would become one damaged record.
void reject_other_format(const ByteSource& shard, const RecordFormat& format, ForwardBytes& bytes) {
  std::string_view found;
  try {
    found = format_of_first_bytes(bytes.at(0, kFirstBytes));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;  // damage, which the scan reports
  }
  if (found.empty() || found == format.name()) return;
  throw input_error("open {} {}: it begins as {}; expected {} as in the other shards. Pass shards of one format",
                    format.name(), shard.name(), found, format.name());
}

// Collects the result of a scan and writes the bytes of an index.
class RecordIndexBuilder final : public RecordSink {
 public:
  // `fix`: use_names() of the format.
  explicit RecordIndexBuilder(std::string fix) : fix_(std::move(fix)) {}

  void add(const ScannedRecord& record) override;
  void add_damaged(std::uint64_t offset, std::uint64_t length, std::string_view reason) override;

  [[nodiscard]] std::uint64_t size() const noexcept { return records_.size(); }
  // The end of the last record.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
  // `points`: the seek points of a compressed shard.
  [[nodiscard]] std::string finish(const SourceStamp& data, const std::string& made_by, Compression compression,
                                   std::string points, const std::string& shard);

 private:
  void take_label(const ScannedRecord& record, IndexRecord& entry);
  void take_name(std::string_view name, IndexRecord& entry);
  void number_texts();
  void take_size(std::span<const std::uint8_t> encoded, IndexRecord& entry);
  void name_member(std::string_view member);
  [[nodiscard]] std::string summary(Compression compression, LabelKind kind) const;

  std::string fix_;
  std::vector<IndexRecord> records_;
  std::vector<std::size_t> text_records_;           // those whose label is a label_text
  bool named_ = false;                              // a record has a label_name only
  std::vector<std::vector<std::uint8_t>> members_;  // empty until the first record with a name
  std::string damage_;
  std::uint64_t damaged_ = 0;
  std::uint64_t end_ = 0;
  std::uint32_t numbers_below_ = 0;
  std::map<std::uint32_t, std::string> numbered_names_;
  std::unordered_map<std::string, std::uint32_t> names_;  // of records with only a class name
  std::vector<std::string> names_in_order_;
  Decoder decoder_;
};

void RecordIndexBuilder::add(const ScannedRecord& record) {
  if (record.label && (*record.label < 0 || *record.label >= kMaxClasses)) {
    add_damaged(record.offset, record.length,
                fmt::format("label {} is not a class number; expected 0 to {}; another field may hold the label",
                            *record.label, kMaxClasses - 1));
    name_member(record.member);
    return;
  }
  IndexRecord entry{record.offset, record.length, 0, -1, 0, 0};
  take_label(record, entry);
  entry.width = static_cast<std::uint32_t>(record.size.width);
  entry.height = static_cast<std::uint32_t>(record.size.height);
  take_size(record.encoded, entry);
  records_.push_back(entry);
  end_ = record.offset + record.length;
  name_member(record.member);
}

void RecordIndexBuilder::add_damaged(std::uint64_t offset, std::uint64_t length, std::string_view reason) {
  append_little(damage_, static_cast<std::uint64_t>(records_.size()));
  append_little(damage_, static_cast<std::uint32_t>(reason.size()));
  damage_ += reason;
  records_.push_back({offset, length, 0, kDamagedLabel, 0, 0});
  end_ = offset + length;
  ++damaged_;
}

void RecordIndexBuilder::take_label(const ScannedRecord& record, IndexRecord& entry) {
  if (record.label) {
    const auto number = static_cast<std::uint32_t>(*record.label);
    entry.label = static_cast<std::int32_t>(number);
    numbers_below_ = std::max(numbers_below_, number + 1);
    if (!record.label_name.empty()) numbered_names_.try_emplace(number, record.label_name);
  } else if (!record.label_name.empty()) {
    named_ = true;
    take_name(record.label_name, entry);
  } else if (!record.label_text.empty()) {
    text_records_.push_back(records_.size());
    take_name(record.label_text, entry);
  }
}

void RecordIndexBuilder::take_name(std::string_view name, IndexRecord& entry) {
  const auto next = static_cast<std::uint32_t>(names_.size());
  if (next >= kMaxClasses) return;
  const auto [known, fresh] = names_.try_emplace(std::string(name), next);
  if (fresh) names_in_order_.emplace_back(name);
  entry.label = static_cast<std::int32_t>(known->second);
}

// Other records have class numbers: texts become numbers too, if all of them are.
void RecordIndexBuilder::number_texts() {
  std::vector<std::int32_t> numbers;
  for (const std::string& text : names_in_order_) {
    const std::optional<std::int32_t> number = number_of_text(text);
    if (!number) return;
    numbers.push_back(*number);
    numbers_below_ = std::max(numbers_below_, static_cast<std::uint32_t>(*number) + 1);
  }
  for (const std::size_t record : text_records_) {
    std::int32_t& label = records_[record].label;
    if (label >= 0) label = numbers[static_cast<std::size_t>(label)];
  }
  names_.clear();
  names_in_order_.clear();
}

// An image that cannot be opened has no size; decoding it reports the damage.
void RecordIndexBuilder::take_size(std::span<const std::uint8_t> encoded, IndexRecord& entry) {
  if (encoded.empty() || detect_encoding(encoded) == Encoding::kUnknown) return;
  try {
    const Size size = decoder_.open(encoded).size;
    entry.width = static_cast<std::uint32_t>(size.width);
    entry.height = static_cast<std::uint32_t>(size.height);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
  }
}

// For the record added last.
void RecordIndexBuilder::name_member(std::string_view member) {
  if (member.empty() && members_.empty()) return;
  members_.resize(records_.size());
  members_.back().assign(member.begin(), member.end());
}

std::string RecordIndexBuilder::summary(Compression compression, LabelKind kind) const {
  std::string bytes;
  append_little(bytes, static_cast<std::uint32_t>(compression));
  append_little(bytes, static_cast<std::uint32_t>(kind));
  append_little(bytes, names_.empty() ? numbers_below_ : static_cast<std::uint32_t>(names_.size()));
  append_little(bytes, damaged_);
  const auto add_name = [&](std::uint32_t number, const std::string& name) {
    append_little(bytes, number);
    append_little(bytes, static_cast<std::uint32_t>(name.size()));
    bytes += name;
  };
  for (const auto& [number, name] : numbered_names_) add_name(number, name);
  for (std::size_t i = 0; i < names_in_order_.size(); ++i) {
    add_name(static_cast<std::uint32_t>(i), names_in_order_[i]);
  }
  return bytes;
}

std::string RecordIndexBuilder::finish(const SourceStamp& data, const std::string& made_by, Compression compression,
                                       std::string points, const std::string& shard) {
  if (numbers_below_ > 0 && !named_) number_texts();
  if (numbers_below_ > 0 && !names_.empty()) {
    const auto name = std::ranges::find_if(names_in_order_, [](const auto& text) { return !number_of_text(text); });
    throw input_error(
        "index {}: some records have a class number and others only a name ('{}'); expected the same for all{}", shard,
        name == names_in_order_.end() ? names_in_order_.front() : *name, fix_);
  }
  const LabelKind kind = !names_.empty()      ? (named_ ? LabelKind::kNames : LabelKind::kTexts)
                         : numbers_below_ > 0 ? LabelKind::kNumbers
                                              : LabelKind::kNone;
  std::vector<IndexPart> parts{{"made-by", made_by}, {"summary", summary(compression, kind)}, {"damage", damage_}};
  if (compression != Compression::kNone) parts.push_back({"points", std::move(points)});
  std::vector<IndexBlobs> blobs;
  if (!members_.empty()) {
    members_.resize(records_.size());
    blobs.push_back({"member", std::move(members_)});
  }
  return index_bytes(data, records_, blobs, parts);
}

}  // namespace

ShardIndex::ShardIndex(std::shared_ptr<const IndexView> view)
    : view_(std::move(view)), summary_(read_summary(*view_)), member_kind_(view_->blob_kind("member")) {}

std::string ShardIndex::reason(std::uint64_t id) const {
  const auto bytes = view_->part("damage");
  for (std::size_t at = 0; bytes && bytes->size() - at >= 12;) {
    const std::uint64_t record = load_little<std::uint64_t>(bytes->data() + at);
    const std::uint32_t length = load_little<std::uint32_t>(bytes->data() + at + 8);
    at += 12;
    if (length > bytes->size() - at) break;
    if (record == id) return {reinterpret_cast<const char*>(bytes->data() + at), length};
    at += length;
  }
  return "damaged when it was indexed";
}

std::string ShardIndex::member(std::uint64_t id) const {
  if (member_kind_ < 0) return "";
  const auto name = view_->blob(member_kind_, id);
  return {name.begin(), name.end()};
}

std::optional<std::int32_t> number_of_text(std::string_view text) noexcept {
  const auto number = parse_number<std::int32_t>(text);
  return number && *number >= 0 && *number < kMaxClasses ? number : std::nullopt;
}

std::string use_names(const RecordFormat& format) {
  return format.can_read_names() ? ". Use #classes=names to read all labels as names." : "";
}

std::string build_index(const ByteSource& shard, const RecordFormat& format) {
  const Compression compression = compression_of(shard, format);
  std::unique_ptr<InflatingForward> inflating;
  std::unique_ptr<ForwardBytes> plain;
  if (compression == Compression::kNone) {
    plain = read_forward(shard);
  } else {
    inflating = inflate_forward(shard, compression);
  }
  ForwardBytes& bytes = inflating ? *inflating : *plain;
  reject_other_format(shard, format, bytes);
  RecordIndexBuilder builder(use_names(format));
  try {
    format.scan(bytes, builder);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
    builder.add_damaged(builder.end(), 0, std::string(error.what()) + "; the rest of the shard cannot be read");
  }
  check_map(shard.mapped());
  return builder.finish(shard.stamp(), made_by(format), compression,
                        inflating ? inflating->take_points() : std::string(), shard.name());
}

namespace {

std::vector<fs::path> paths_of(const ByteSource& shard, const RecordFormat& format, bool save) {
  // Without ETag and Last-Modified, an index of a changed object could not be recognised.
  const bool versioned = !is_url(shard.name()) || shard.stamp().changed_ns != 0;
  return save && versioned ? index_paths(shard.name(), format.variant()) : std::vector<fs::path>();
}

struct BuiltIndex {
  ShardIndex index;
  bool saved;
  std::string failure;  // why the last path could not be written
};

// Saves to the first path that can be written; in memory if there is none.
BuiltIndex build_and_save(const ByteSource& shard, const RecordFormat& format, bool save) {
  const std::vector<fs::path> paths = paths_of(shard, format, save);
  std::string bytes = build_index(shard, format);
  SavedIndex saved = save_index(shard.name(), paths, bytes);
  try {
    if (!saved.path.empty()) return {ShardIndex(open_index(saved.path.string())), true, ""};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kIo) throw;
    saved.failure = error.what();
  }
  return {ShardIndex(index_in_memory(std::move(bytes), "of " + shard.name())), false, std::move(saved.failure)};
}

std::string note_of(const BuiltIndex& built, const ByteSource& shard, bool save) {
  if (built.saved || !save) return "";
  if (is_url(shard.name()) && shard.stamp().changed_ns == 0)
    return "the index of " + shard.name() +
           " is built in every run, because the server sends neither ETag nor Last-Modified";
  return not_saved(shard.name(), built.failure);
}

}  // namespace

ShardIndex find_or_build_index(const ByteSource& shard, const RecordFormat& format, bool save, std::string& note) {
  const std::string maker = made_by(format);
  const std::vector<fs::path> paths = paths_of(shard, format, save);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::optional<ShardIndex> found = read_saved(paths[i], shard.stamp(), maker);
    if (!found) continue;
    // An index in the cache folder, while one next to the data is requested.
    if (i > 0 && ::access(fs::absolute(paths[0]).parent_path().c_str(), W_OK) == 0)
      (void)save_index(shard.name(), std::span(paths).first(i), read_text_file(paths[i]));
    return *std::move(found);
  }
  BuiltIndex built = build_and_save(shard, format, save);
  note = note_of(built, shard, save);
  return std::move(built.index);
}

ShardIndex rebuild_index(const ByteSource& shard, const RecordFormat& format, bool save, const std::string& damaged,
                         std::string& note) {
  BuiltIndex built = build_and_save(shard, format, save);
  std::error_code none;
  const bool still_there = built.index.view().name() != damaged && fs::exists(damaged, none);
  note = still_there ? "index " + damaged + " is damaged and could not be replaced (" + built.failure +
                           "). Delete it, else it is rebuilt in every run"
                     : note_of(built, shard, save);
  return std::move(built.index);
}

}  // namespace unstarve
