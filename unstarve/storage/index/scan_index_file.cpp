#include "unstarve/storage/index/scan_index_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/core/map_guard.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/bytes/local_bytes.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/index/index_paths.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
namespace layout = scan_index_layout;

constexpr std::string_view kScanIndexMagic = "UNSTJPX\n";
constexpr std::uint32_t kVersion = 1;

}  // namespace

namespace scan_index_layout {

std::string header_of(std::uint64_t records, std::uint64_t key) {
  std::string rest;
  append_little(rest, records);
  append_little(rest, key);
  std::string start(kScanIndexMagic);
  append_little(start, kVersion);
  const std::uint32_t crc = crc32c(as_bytes(rest), crc32c(as_bytes(start)));
  append_little(start, crc);
  return start + rest;
}

Head head_of(std::span<const std::uint8_t, kHeaderBytes> header) {
  if (std::memcmp(header.data(), kScanIndexMagic.data(), kScanIndexMagic.size()) != 0) return Head::kDamaged;
  if (load_little<std::uint32_t>(header.data() + 8) != kVersion) return Head::kOtherVersion;
  const std::string whole = header_of(records_of(header), key_of(header));
  return std::memcmp(header.data(), whole.data(), kHeaderBytes) == 0 ? Head::kWhole : Head::kDamaged;
}

std::uint64_t records_of(std::span<const std::uint8_t, kHeaderBytes> header) {
  return load_little<std::uint64_t>(header.data() + 16);
}

std::uint64_t key_of(std::span<const std::uint8_t, kHeaderBytes> header) {
  return load_little<std::uint64_t>(header.data() + 24);
}

Entry entry_of(std::uint64_t offset, std::span<const std::uint8_t> index) {
  std::string text;
  append_little(text, offset);
  append_little(text, static_cast<std::uint32_t>(index.size()));
  append_little(text, crc32c(index, crc32c(as_bytes(text))));
  Entry entry;
  std::memcpy(entry.data(), text.data(), kEntryBytes);
  return entry;
}

bool is_empty(const std::uint8_t* entry) {
  return std::all_of(entry, entry + kEntryBytes, [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace scan_index_layout

std::string scan_index_path(const std::string& shard) { return index_path(shard + ".jpeg"); }

void ScanIndexBuilder::add(std::span<const std::uint8_t> index) {
  lengths_.push_back(static_cast<std::uint32_t>(index.size()));
  bytes_.append(reinterpret_cast<const char*>(index.data()), index.size());
}

std::string ScanIndexBuilder::file(std::uint64_t shard_bytes) const {
  std::string file = layout::header_of(lengths_.size(), shard_bytes);
  std::uint64_t offset = layout::entry_offset(lengths_.size());
  const auto* index = reinterpret_cast<const std::uint8_t*>(bytes_.data());
  for (const std::uint32_t length : lengths_) {
    layout::Entry entry{};
    if (length > 0) entry = layout::entry_of(offset, {index, length});
    file.append(reinterpret_cast<const char*>(entry.data()), entry.size());
    offset += length;
    index += length;
  }
  return file + bytes_;
}

std::string ScanIndexView::why_not_of(std::span<const std::uint8_t> file, std::uint64_t records,
                                      std::uint64_t shard_bytes) {
  if (file.size() < layout::kHeaderBytes)
    return fmt::format("truncated: {} bytes; expected a header of {}", file.size(), layout::kHeaderBytes);
  const auto header = file.first<layout::kHeaderBytes>();
  const layout::Head head = layout::head_of(header);
  if (head == layout::Head::kDamaged) return "damaged header";
  if (head == layout::Head::kOtherVersion) return "it was written by another version of unstarve";
  if (layout::records_of(header) != records || layout::key_of(header) != shard_bytes)
    return fmt::format("it belongs to a shard with {} records in {} bytes; found {} in {}", layout::records_of(header),
                       layout::key_of(header), records, shard_bytes);
  if ((file.size() - header.size()) / layout::kEntryBytes < records)
    return fmt::format("truncated: {} bytes; expected a header of {} and a table of {} entries", file.size(),
                       layout::kHeaderBytes, records);
  return "";
}

ScanIndexView::Found ScanIndexView::find(std::uint64_t record) const {
  const std::uint8_t* const entry = file_.data() + layout::entry_offset(record);
  const auto offset = load_little<std::uint64_t>(entry);
  const auto length = load_little<std::uint32_t>(entry + 8);
  if (layout::is_empty(entry)) return {};
  if (length > layout::kMaxBytes || offset > file_.size() || length > file_.size() - offset)
    return {FoundIndex::kDamaged};
  const std::span<const std::uint8_t> index = file_.subspan(offset, length);
  if (std::memcmp(layout::entry_of(offset, index).data(), entry, layout::kEntryBytes) != 0)
    return {FoundIndex::kDamaged};
  return {FoundIndex::kRight, index};
}

std::shared_ptr<const ScanIndexFile> ScanIndexFile::open(const std::string& shard, std::uint64_t records,
                                                         std::string& why_not) {
  why_not.clear();
  const std::string path = scan_index_path(shard);
  std::error_code failed;
  const fs::file_type type = fs::status(path, failed).type();
  if (type == fs::file_type::not_found || failed == std::errc::filename_too_long) return nullptr;
  const std::uintmax_t shard_bytes = failed ? 0 : fs::file_size(shard, failed);
  if (failed) {
    why_not = path + ": " + failed.message();
    return nullptr;
  }
  try {
    auto file = std::make_shared<const LocalBytes>(path);
    why_not = ScanIndexView::why_not_of(file->mapped(), records, shard_bytes);
    check_map(file->mapped());
    if (why_not.empty()) return std::shared_ptr<const ScanIndexFile>(new ScanIndexFile(std::move(file)));
    why_not = path + ": " + why_not;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kIo) throw;
    why_not = error.what();
  }
  return nullptr;
}

FoundIndex ScanIndexFile::find(std::uint64_t record, std::vector<std::uint8_t>& bytes) const {
  const ScanIndexView::Found found = view_.find(record);
  bytes.assign(found.bytes.begin(), found.bytes.end());  // lost pages read as zeros, which the decoder rejects
  return found.what;
}

PackedIndexes packed_indexes_of(const Dataset& data) {
  const std::vector<DataFile> files = data.files();
  PackedIndexes packed;
  std::string why_not;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::uint64_t end = i + 1 < files.size() ? files[i + 1].first : data.size();
    const std::uint64_t records = end - files[i].first;
    if (records == 0 || is_url(files[i].path)) continue;
    if (auto file = ScanIndexFile::open(files[i].path, records, why_not))
      packed.parts.push_back({files[i].first, records, std::move(file)});
    else if (!why_not.empty())
      packed.not_used.push_back(why_not + "; it is not used");
  }
  return packed;
}

}  // namespace unstarve
