#include "unstarve/storage/index/record_index.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/storage/index/record_index_builder.h"
#include "unstarve/storage/little_endian.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// Of output: enough to tell a compressed stream from bytes that begin like one.
constexpr std::size_t kProbeBytes = 1024;

std::string made_by(const RecordFormat& format) {
  return format.name() + " " + std::to_string(format.scan_version()) + " " + format.variant();
}

Fingerprint fingerprint_of(const ByteSource& shard) { return {shard.stamp().bytes, shard.stamp().changed_ns}; }

std::span<const std::uint8_t> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// FNV-1a, 64 bits, in hexadecimal: tells names apart.
std::string digest(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  constexpr std::array<char, 17> kDigits = {"0123456789abcdef"};
  std::string digits(16, '0');
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, hash >>= 4) *digit = kDigits[hash & 15];
  return digits;
}

// $XDG_CACHE_HOME/unstarve/index, nothing where the environment does not tell where that is.
std::optional<fs::path> cache_folder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return fs::path(cache) / "unstarve" / "index";  // must be absolute, says XDG
  const char* const home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return fs::path(home) / ".cache" / "unstarve" / "index";
  return std::nullopt;
}

// Where the index may lie, the best place first.
std::vector<fs::path> places(const ByteSource& shard, const RecordFormat& format) {
  const std::string variant = format.variant().empty() ? "" : "." + digest(format.variant()).substr(0, 8);
  std::vector<fs::path> found;
  std::string whole = shard.name();
  if (!is_url(whole)) {
    found.push_back(index_path(whole + variant));
    std::error_code failed;
    const fs::path absolute = fs::absolute(whole, failed);
    if (!failed) whole = absolute.lexically_normal().string();
  }
  if (const std::optional<fs::path> cache = cache_folder()) {
    // The digest tells shards apart, the end of the name is for people.
    const std::string name = whole.substr(whole.find_last_of('/') + 1);
    found.push_back(*cache / index_path(digest(whole) + "-" +
                                        name.substr(name.size() - std::min<std::size_t>(name.size(), 100)) + variant));
  }
  return found;
}

bool was_made_by(const IndexView& view, const std::string& expected) {
  const auto text = view.part("made-by");
  return text && std::equal(text->begin(), text->end(), as_bytes(expected).begin(), as_bytes(expected).end());
}

// A good index of the place, nothing where there is none that serves: then it is made (again).
std::optional<ShardIndex> read_place(const fs::path& place, const Fingerprint& print, const std::string& maker) {
  try {
    IndexReading reading = read_index(place, print);
    if (reading.state != IndexState::kGood || !was_made_by(reading.sidecar->view(), maker)) return std::nullopt;
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
  const Compression told = detect_compression(front);
  // Its four bytes leave no doubt; that it is damaged is for the scan to say.
  if (told == Compression::kZstd) return told;
  return inflate_head(shard, front, kProbeBytes) ? told : Compression::kNone;
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

std::string make_index(const ByteSource& shard, const RecordFormat& format) {
  const Compression compression = compression_of(shard, format);
  std::unique_ptr<InflatingForward> inflating;
  std::unique_ptr<ForwardBytes> plain;
  if (compression == Compression::kNone) {
    plain = read_forward(shard);
  } else {
    inflating = inflate_forward(shard, compression);
  }
  RecordIndexBuilder builder;
  try {
    format.scan(inflating ? *inflating : *plain, builder);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
    builder.add_damaged(builder.end(), 0, std::string(error.what()) + "; the rest of the shard cannot be read");
  }
  return builder.finish(fingerprint_of(shard), made_by(format), compression,
                        inflating ? inflating->take_points() : std::string(), shard.name());
}

namespace {

struct MadeIndex {
  ShardIndex index;
  bool kept;
  std::string failed;  // why a place could not be written
};

// In the first of the places that can be written, in memory where none can.
MadeIndex make_and_keep(const ByteSource& shard, const RecordFormat& format, const std::vector<fs::path>& candidates) {
  std::string bytes = make_index(shard, format);
  std::string failed = "neither XDG_CACHE_HOME nor HOME tells a folder for it";
  for (const fs::path& place : candidates) {
    try {
      if (&place != &candidates.front() || is_url(shard.name())) fs::create_directories(place.parent_path());
      write_file_atomically(place, bytes);
      return {ShardIndex(IndexSidecar(place)), true, failed};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kIo) throw;
      failed = error.what();
    } catch (const fs::filesystem_error& error) {
      failed = error.what();
    }
  }
  return {ShardIndex(std::move(bytes), "of " + shard.name()), false, failed};
}

std::string note_of(const MadeIndex& made, const ByteSource& shard, bool keep) {
  if (made.kept || !keep) return "";
  return "the index of " + shard.name() + " cannot be kept (" + made.failed + "): it is made again in every run";
}

}  // namespace

ShardIndex find_or_make_index(const ByteSource& shard, const RecordFormat& format, bool keep, std::string& note) {
  const std::vector<fs::path> candidates = keep ? places(shard, format) : std::vector<fs::path>();
  const std::string maker = made_by(format);
  for (const fs::path& place : candidates) {
    if (std::optional<ShardIndex> found = read_place(place, fingerprint_of(shard), maker)) return *std::move(found);
  }
  MadeIndex made = make_and_keep(shard, format, candidates);
  note = note_of(made, shard, keep);
  return std::move(made.index);
}

ShardIndex remake_index(const ByteSource& shard, const RecordFormat& format, bool keep, const std::string& damaged,
                        std::string& note) {
  MadeIndex made = make_and_keep(shard, format, keep ? places(shard, format) : std::vector<fs::path>());
  std::error_code none;
  const bool still_there = made.index.view().name() != damaged && fs::exists(damaged, none);
  note = still_there ? "index " + damaged + " is damaged and could not be replaced (" + made.failed +
                           "): delete it, else it is made again in every run"
                     : note_of(made, shard, keep);
  return std::move(made.index);
}

}  // namespace unstarve
