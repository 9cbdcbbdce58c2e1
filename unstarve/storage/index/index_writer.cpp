// Writes the index sidecar; the layout is drawn in index_sidecar.h.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <set>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/crc32.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/index/index_layout.h"
#include "unstarve/storage/index/index_sidecar.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
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
  if (!plain || name.empty() || name.size() >= kIndexNameBytes || name == kRecordsName || !used.insert(name).second) {
    throw Error(ErrorKind::kArgument, "write index: the name '" + name + "' is invalid or repeated; expected 1 to " +
                                          std::to_string(kIndexNameBytes - 1) + " characters a-z, 0-9 and -");
  }
}

Section blobs_section(const IndexBlobs& kind, std::size_t records) {
  if (kind.blobs.size() != records) {
    throw Error(ErrorKind::kArgument, "write index: " + std::to_string(kind.blobs.size()) + " blobs '" + kind.name +
                                          "' for " + std::to_string(records) + " records");
  }
  Section section{kind.name, kBlobsKind, 0, {}};
  std::uint64_t offset = 0;
  for (const std::vector<std::uint8_t>& blob : kind.blobs) {
    if (blob.size() > std::numeric_limits<std::uint32_t>::max()) {
      throw Error(ErrorKind::kArgument, "write index: a blob '" + kind.name + "' over 4 GiB");
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

}  // namespace

Fingerprint fingerprint_of(std::span<const fs::path> files) {
  Fingerprint print;
  for (const fs::path& file : files) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) throw io_error("stat", file.string(), errno);
    print.bytes += static_cast<std::uint64_t>(status.st_size);
    print.changed_ns = std::max(print.changed_ns, static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
                                                      static_cast<std::int64_t>(status.st_mtim.tv_nsec));
  }
  return print;
}

std::string index_bytes(const Fingerprint& fingerprint, std::span<const IndexRecord> records,
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
    table.append(kIndexNameBytes - section.name.size(), '\0');
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
  append_little(file, fingerprint.bytes);
  append_little(file, fingerprint.changed_ns);
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

}  // namespace unstarve
