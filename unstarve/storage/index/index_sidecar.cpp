#include "unstarve/storage/index/index_sidecar.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "unstarve/core/file.h"
#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve {
namespace {

using namespace index_layout;

struct Section {
  std::string name;
  std::uint32_t kind;
  std::uint32_t crc;
  std::string bytes;
};

Section records_section(std::span<const IndexRecord> records) {
  Section section{std::string(kRecordsName), kRecordsKind, 0, {}};
  const std::size_t bytes = records.size() * kRecordBytes;
  section.bytes.reserve(bytes + (records.size() / kBlockRecords + 1) * kBlockCrcBytes);
  for (const IndexRecord& record : records) {
    append_little(section.bytes, record.offset);
    append_little(section.bytes, record.length);
    append_little(section.bytes, record.file);
    append_little(section.bytes, record.label);
    append_little(section.bytes, record.width);
    append_little(section.bytes, record.height);
  }
  for (std::size_t begin = 0; begin < bytes; begin += kBlockRecords * kRecordBytes) {
    const std::string_view written(section.bytes.data(), bytes);
    append_little(section.bytes, crc32(as_bytes(written.substr(begin, kBlockRecords * kRecordBytes))));
  }
  return section;
}

void check_name(const std::string& name, std::set<std::string>& used) {
  const bool plain = std::all_of(name.begin(), name.end(),
                                 [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
  if (!plain || name.empty() || name.size() >= kNameBytes || name == kRecordsName || !used.insert(name).second) {
    throw argument_error(
        "write index: the name '{}' is invalid or repeated; expected 1 to {} characters a-z, 0-9 and -", name,
        kNameBytes - 1);
  }
}

Section blobs_section(const IndexBlobs& kind, std::size_t records) {
  if (kind.blobs.size() != records) {
    throw argument_error("write index: {} blobs '{}' for {} records", kind.blobs.size(), kind.name, records);
  }
  Section section{kind.name, kBlobsKind, 0, {}};
  std::uint64_t offset = 0;
  for (const std::vector<std::uint8_t>& blob : kind.blobs) {
    if (blob.size() > std::numeric_limits<std::uint32_t>::max()) {
      throw argument_error("write index: a blob '{}' over 4 GiB", kind.name);
    }
    std::string entry;
    append_little(entry, offset);
    append_little(entry, static_cast<std::uint32_t>(blob.size()));
    append_little(entry, crc32(blob, crc32(as_bytes(entry))));
    section.bytes += entry;
    offset += blob.size();
  }
  section.bytes.reserve(section.bytes.size() + offset);
  for (const std::vector<std::uint8_t>& blob : kind.blobs) section.bytes.append(blob.begin(), blob.end());
  return section;
}

std::uint64_t aligned(std::uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

// Owners of the bytes of an index.
struct IndexFile {
  explicit IndexFile(const std::string& path) : map(path), view(map.bytes(), path) {}
  MappedFile map;
  IndexView view;
};
struct IndexText {
  IndexText(std::string text, std::string name) : bytes(std::move(text)), view(as_bytes(bytes), std::move(name)) {}
  std::string bytes;
  IndexView view;
};

}  // namespace

void IndexView::damaged(std::uint64_t offset, const std::string& what) const {
  throw input_error("read index {}: damaged at offset {}: {}. Delete it to rebuild it", name_, offset, what);
}

IndexView::IndexView(std::span<const std::uint8_t> bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {
  if (bytes.size() < 12 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    damaged(0, "not an index (magic bytes missing)");
  const std::uint32_t version = load_little<std::uint32_t>(bytes.data() + 8);
  if (version != kIndexVersion) {
    damaged(8, fmt::format("version {}; expected {}", version, kIndexVersion));
  }
  if (bytes.size() < kHeaderBytes) {
    damaged(bytes.size(), fmt::format("the file ends within its header of {} bytes", kHeaderBytes));
  }
  if (crc32(bytes.first(52)) != load_little<std::uint32_t>(bytes.data() + 52)) damaged(0, "checksum of the header");
  const std::uint32_t sections = load_little<std::uint32_t>(bytes.data() + 12);
  count_ = load_little<std::uint64_t>(bytes.data() + 16);
  data_ = {load_little<std::uint64_t>(bytes.data() + 24), load_little<std::int64_t>(bytes.data() + 32)};
  const std::uint64_t file_bytes = load_little<std::uint64_t>(bytes.data() + 40);
  if (file_bytes != bytes.size()) {
    damaged(40, fmt::format("the file has {} bytes; expected {}", bytes.size(), file_bytes));
  }
  // Every record has at least 32 bytes, which bounds every product below.
  if (count_ > bytes.size() / kRecordBytes) damaged(16, fmt::format("{} records do not fit into the file", count_));
  if (sections > kMaxSections || sections > (bytes.size() - kHeaderBytes) / kSectionBytes) {
    damaged(12, fmt::format("{} sections do not fit into the file", sections));
  }
  const auto table = bytes.subspan(kHeaderBytes, sections * kSectionBytes);
  if (crc32(table) != load_little<std::uint32_t>(bytes.data() + 48)) damaged(kHeaderBytes, "checksum of the sections");
  for (std::uint32_t i = 0; i < sections; ++i) add_section(i, table.subspan(i * kSectionBytes, kSectionBytes));
  if (!has_records_) damaged(kHeaderBytes, "no section of records");
}

void IndexView::add_section(std::uint32_t number, std::span<const std::uint8_t> entry) {
  const std::uint64_t at = kHeaderBytes + number * kSectionBytes;
  const char* const text = reinterpret_cast<const char*>(entry.data());
  const std::string name(text, ::strnlen(text, kNameBytes));
  const std::uint64_t offset = load_little<std::uint64_t>(entry.data() + 24);
  const std::uint64_t length = load_little<std::uint64_t>(entry.data() + 32);
  const std::uint32_t crc = load_little<std::uint32_t>(entry.data() + 40);
  const std::uint32_t kind = load_little<std::uint32_t>(entry.data() + 44);
  if (name.empty() || name.size() == kNameBytes) damaged(at, fmt::format("name of section {}", number));
  if (offset > bytes_.size() || length > bytes_.size() - offset) {
    damaged(at, "section '" + name + "' is outside of the file");
  }
  const auto section = bytes_.subspan(offset, length);
  const auto is_part = [&](const Part& part) { return part.name == name; };
  if (blob_kind(name) >= 0 || std::any_of(parts_.begin(), parts_.end(), is_part)) {
    damaged(at, "two sections '" + name + "'");
  }
  if (kind == kRecordsKind) {
    add_records(at, section);
  } else if (kind == kBlobsKind) {
    add_blobs(at, name, section);
  } else if (kind == kPartKind) {
    parts_.push_back({name, section, crc});
  } else {
    damaged(at, fmt::format("section '{}' of unknown kind {}", name, kind));
  }
}

void IndexView::add_records(std::uint64_t at, std::span<const std::uint8_t> section) {
  const std::uint64_t blocks = (count_ + kBlockRecords - 1) / kBlockRecords;
  const std::uint64_t expected = count_ * kRecordBytes + blocks * kBlockCrcBytes;
  if (has_records_ || section.size() != expected) {
    damaged(at, fmt::format("records take {} bytes; expected one section of {}", section.size(), expected));
  }
  has_records_ = true;
  records_ = section.first(count_ * kRecordBytes);
  block_crcs_ = section.subspan(records_.size());
  checked_ = std::vector<std::atomic<bool>>(blocks);
}

void IndexView::add_blobs(std::uint64_t at, const std::string& name, std::span<const std::uint8_t> section) {
  if (section.size() / kBlobEntryBytes < count_) damaged(at, "section '" + name + "' is shorter than its table");
  blobs_.push_back({name, section.first(count_ * kBlobEntryBytes), section.subspan(count_ * kBlobEntryBytes)});
}

void IndexView::check_block(std::uint64_t block) const {
  if (checked_[block].load(std::memory_order_relaxed)) return;
  const std::size_t begin = block * kBlockRecords * kRecordBytes;
  const auto bytes = records_.subspan(begin, std::min(kBlockRecords * kRecordBytes, records_.size() - begin));
  if (crc32(bytes) != load_little<std::uint32_t>(block_crcs_.data() + block * kBlockCrcBytes)) {
    damaged(static_cast<std::uint64_t>(bytes.data() - bytes_.data()), "checksum of the records");
  }
  checked_[block].store(true, std::memory_order_relaxed);
}

IndexRecord IndexView::record(std::uint64_t id) const {
  check_block(id / kBlockRecords);
  const std::uint8_t* const p = records_.data() + id * kRecordBytes;
  return {load_little<std::uint64_t>(p),     load_little<std::uint64_t>(p + 8),  load_little<std::uint32_t>(p + 16),
          load_little<std::int32_t>(p + 20), load_little<std::uint32_t>(p + 24), load_little<std::uint32_t>(p + 28)};
}

int IndexView::blob_kind(std::string_view name) const {
  for (std::size_t i = 0; i < blobs_.size(); ++i) {
    if (blobs_[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::span<const std::uint8_t> IndexView::blob(int kind, std::uint64_t id) const {
  const Blobs& blobs = blobs_[static_cast<std::size_t>(kind)];
  const std::uint8_t* const entry = blobs.table.data() + id * kBlobEntryBytes;
  const std::uint64_t begin = load_little<std::uint64_t>(entry);
  const std::uint32_t length = load_little<std::uint32_t>(entry + 8);
  const std::string what = fmt::format("'{}' of record {}", blobs.name, id);
  if (begin > blobs.bytes.size() || length > blobs.bytes.size() - begin) {
    damaged(static_cast<std::uint64_t>(entry - bytes_.data()), what + " is outside of its section");
  }
  const auto found = blobs.bytes.subspan(begin, length);
  if (crc32(found, crc32({entry, kBlobCheckedBytes})) != load_little<std::uint32_t>(entry + kBlobCheckedBytes)) {
    damaged(static_cast<std::uint64_t>(found.data() - bytes_.data()), "checksum of " + what);
  }
  return found;
}

std::optional<std::span<const std::uint8_t>> IndexView::part_with_own_checksum(std::string_view name) const {
  for (const Part& part : parts_) {
    if (part.name == name) return part.bytes;
  }
  return std::nullopt;
}

std::optional<std::span<const std::uint8_t>> IndexView::part(std::string_view name) const {
  for (const Part& part : parts_) {
    if (part.name != name) continue;
    if (crc32(part.bytes) != part.crc) {
      damaged(static_cast<std::uint64_t>(part.bytes.data() - bytes_.data()), "checksum of '" + part.name + "'");
    }
    return part.bytes;
  }
  return std::nullopt;
}

void IndexView::check() const {
  for (std::uint64_t block = 0; block < checked_.size(); ++block) check_block(block);
  for (int kind = 0; kind < static_cast<int>(blobs_.size()); ++kind) {
    for (std::uint64_t id = 0; id < count_; ++id) (void)blob(kind, id);
  }
  for (const Part& one : parts_) (void)part(one.name);
}

std::string index_bytes(const SourceStamp& data, std::span<const IndexRecord> records,
                        std::span<const IndexBlobs> blobs, std::span<const IndexPart> parts) {
  std::vector<Section> sections{records_section(records)};
  std::set<std::string> used;
  for (const IndexBlobs& kind : blobs) {
    check_name(kind.name, used);
    sections.push_back(blobs_section(kind, records.size()));
  }
  for (const IndexPart& part : parts) {
    check_name(part.name, used);
    sections.push_back({part.name, kPartKind, crc32(as_bytes(part.bytes)), part.bytes});
  }

  std::string table;
  std::uint64_t end = kHeaderBytes + sections.size() * kSectionBytes;
  for (const Section& section : sections) {
    const std::uint64_t offset = aligned(end);
    table += section.name;
    table.append(kNameBytes - section.name.size(), '\0');
    append_little(table, offset);
    append_little(table, static_cast<std::uint64_t>(section.bytes.size()));
    append_little(table, section.crc);
    append_little(table, section.kind);
    end = offset + section.bytes.size();
  }

  std::string file(kMagic);
  append_little(file, kIndexVersion);
  append_little(file, static_cast<std::uint32_t>(sections.size()));
  append_little(file, static_cast<std::uint64_t>(records.size()));
  append_little(file, data.bytes);
  append_little(file, data.changed_ns);
  append_little(file, end);
  append_little(file, crc32(as_bytes(table)));
  append_little(file, crc32(as_bytes(file)));
  file += table;
  file.reserve(end);
  for (Section& section : sections) {
    file.resize(aligned(file.size()), '\0');
    file += section.bytes;
    section.bytes = {};  // frees its memory
  }
  return file;
}

bool is_made_by(const IndexView& view, std::string_view maker) {
  const auto text = view.part("made-by");
  return text && std::ranges::equal(*text, as_bytes(maker));
}

std::shared_ptr<const IndexView> open_index(const std::string& path) {
  auto file = std::make_shared<const IndexFile>(path);
  return {file, &file->view};
}

std::shared_ptr<const IndexView> index_in_memory(std::string bytes, std::string name) {
  auto text = std::make_shared<const IndexText>(std::move(bytes), std::move(name));
  return {text, &text->view};
}

}  // namespace unstarve
