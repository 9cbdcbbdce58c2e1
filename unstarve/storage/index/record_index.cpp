#include "unstarve/storage/index/record_index.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/map_guard.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/index/index_cache.h"
#include "unstarve/storage/index/index_paths.h"
#include "unstarve/storage/index/record_index_builder.h"
#include "unstarve/storage/source/first_bytes.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// Bytes of output: enough to distinguish a compressed stream from bytes that begin like one.
constexpr std::size_t kProbeBytes = 1024;

std::string made_by(const RecordFormat& format) {
  return format.name() + " " + std::to_string(format.scan_version()) + " " + format.variant();
}

Fingerprint fingerprint_of(const ByteSource& shard) { return {shard.stamp().bytes, shard.stamp().changed_ns}; }

bool was_made_by(const IndexView& view, const std::string& expected) {
  const auto text = view.part("made-by");
  return text && std::equal(text->begin(), text->end(), as_bytes(expected).begin(), as_bytes(expected).end());
}

// A valid index at `path`; nothing if it must be built.
std::optional<ShardIndex> read_saved(const fs::path& path, const Fingerprint& print, const std::string& maker) {
  try {
    IndexReading reading = read_index(path, print);
    if (reading.state != IndexState::kGood || !was_made_by(reading.sidecar->view(), maker)) return std::nullopt;
    mark_index_used(path);
    return ShardIndex(*std::move(reading.sidecar));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput && error.kind() != ErrorKind::kIo) throw;
    return std::nullopt;
  }
}

ShardSummary read_summary(const IndexView& view) {
  constexpr std::size_t kFront = 20;
  const auto bytes = view.part("summary");
  if (!bytes || bytes->size() < kFront) throw Error(ErrorKind::kInput, "read index: it has no summary");
  const std::uint8_t* const p = bytes->data();
  ShardSummary summary;
  summary.compression = static_cast<Compression>(load_little<std::uint32_t>(p));
  summary.labels = static_cast<LabelKind>(load_little<std::uint32_t>(p + 4));
  summary.classes = load_little<std::uint32_t>(p + 8);
  summary.damaged = load_little<std::uint64_t>(p + 12);
  for (std::size_t at = kFront; at < bytes->size();) {
    if (bytes->size() - at < 8) throw Error(ErrorKind::kInput, "read index: its class names are cut short");
    const std::uint32_t number = load_little<std::uint32_t>(p + at);
    const std::uint32_t length = load_little<std::uint32_t>(p + at + 4);
    at += 8;
    if (bytes->size() - at < length || number >= summary.classes) {
      throw Error(ErrorKind::kInput, "read index: its class names are damaged");
    }
    summary.class_names.emplace_back(number, std::string(reinterpret_cast<const char*>(p + at), length));
    at += length;
  }
  if (summary.compression > Compression::kZstd || summary.labels > LabelKind::kNames || summary.classes > kMaxClasses) {
    throw Error(ErrorKind::kInput, "read index: its summary is damaged");
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
  // Its four bytes leave no doubt; that it is damaged is for the scan to say.
  if (compression == Compression::kZstd) return compression;
  return inflate_head(shard, front, kProbeBytes) ? compression : Compression::kNone;
}

// A shard of another known format would become one damaged record.
void refuse_other_format(const ByteSource& shard, const RecordFormat& format, ForwardBytes& bytes) {
  std::string_view found;
  try {
    found = format_of_first_bytes(bytes.at(0, kFirstBytes));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;  // damage, which the scan reports
  }
  if (found.empty() || found == format.name()) return;
  throw Error(ErrorKind::kInput, "open " + format.name() + " " + shard.name() + ": it begins as " + std::string(found) +
                                     "; expected " + format.name() +
                                     " as in the other shards. Pass shards of one format");
}

}  // namespace

ShardIndex::ShardIndex(IndexSidecar sidecar)
    : sidecar_(std::make_unique<const IndexSidecar>(std::move(sidecar))),
      view_(&sidecar_->view()),
      summary_(read_summary(*view_)),
      member_kind_(view_->blob_kind("member")) {}

ShardIndex::ShardIndex(std::string bytes, const std::string& name)
    : bytes_(std::make_unique<const std::string>(std::move(bytes))),
      own_view_(std::make_unique<const IndexView>(as_bytes(*bytes_), name)),
      view_(own_view_.get()),
      summary_(read_summary(*view_)),
      member_kind_(view_->blob_kind("member")) {}

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

std::string build_index(const ByteSource& shard, const RecordFormat& format, PageCacheBudget& budget) {
  const std::unique_ptr<const ByteSource> direct = open_uncached(shard, budget);
  const ByteSource& passed = direct ? *direct : shard;
  const Compression compression = compression_of(shard, format);
  std::unique_ptr<InflatingForward> inflating;
  std::unique_ptr<ForwardBytes> plain;
  if (compression == Compression::kNone) {
    plain = read_forward(passed);
  } else {
    inflating = inflate_forward(passed, compression);
  }
  ForwardBytes& bytes = inflating ? *inflating : *plain;
  refuse_other_format(shard, format, bytes);
  RecordIndexBuilder builder;
  try {
    format.scan(bytes, builder);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
    builder.add_damaged(builder.end(), 0, std::string(error.what()) + "; the rest of the shard cannot be read");
  }
  check_map(shard.mapped());
  return builder.finish(fingerprint_of(shard), made_by(format), compression,
                        inflating ? inflating->take_points() : std::string(), shard.name());
}

namespace {

std::vector<fs::path> paths_of(const ByteSource& shard, const RecordFormat& format, bool save) {
  return save ? index_paths(shard.name(), format.variant()) : std::vector<fs::path>();
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
    if (!saved.path.empty()) return {ShardIndex(IndexSidecar(saved.path)), true, ""};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kIo) throw;
    saved.failure = error.what();
  }
  return {ShardIndex(std::move(bytes), "of " + shard.name()), false, std::move(saved.failure)};
}

std::string note_of(const BuiltIndex& built, const ByteSource& shard, bool save) {
  if (built.saved || !save) return "";
  return not_saved(shard.name(), built.failure);
}

}  // namespace

ShardIndex find_or_build_index(const ByteSource& shard, const RecordFormat& format, bool save, std::string& note) {
  const std::string maker = made_by(format);
  for (const fs::path& path : paths_of(shard, format, save)) {
    if (std::optional<ShardIndex> found = read_saved(path, fingerprint_of(shard), maker)) return *std::move(found);
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
