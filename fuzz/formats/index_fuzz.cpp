// Arbitrary bytes as an index sidecar. A fuzzer cannot get past checksums, so each input is read twice: unchanged, and
// with corrected checksums of header, sections, records, blobs and parts.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/index/index_sidecar.h"
#include "unstarve/storage/index/record_index.h"

namespace {

using namespace unstarve;
using namespace unstarve::index_layout;

void read_everything(std::span<const std::uint8_t> bytes) {
  std::uint64_t sum = 0;
  try {
    const IndexView view(bytes, "fuzz");
    try {
      view.check();
    } catch (const Error&) {
    }
    try {
      sum += view.part("classes").value_or(bytes.first(0)).size();
    } catch (const Error&) {
    }
    for (std::uint64_t id = 0; id < view.size(); ++id) {
      try {
        sum += view.record(id).offset + view.record(id).height;
      } catch (const Error&) {
      }
      for (const char* name : {"member", "jpeg-rows"}) {
        const int kind = view.blob_kind(name);
        if (kind < 0) continue;
        try {
          for (const std::uint8_t byte : view.blob(kind, id)) sum += byte;
        } catch (const Error&) {
        }
      }
    }
  } catch (const Error&) {
  }
  volatile std::uint64_t used = sum;  // prevents the reads from being optimised away
  (void)used;
}

// Reads the bytes as the index of a shard of records.
void read_as_shard(std::span<const std::uint8_t> bytes) {
  try {
    const ShardIndex index(index_in_memory(std::string(bytes.begin(), bytes.end()), "fuzz"));
    for (std::uint64_t id = 0; id < std::min<std::uint64_t>(index.view().size(), 100); ++id) {
      (void)index.reason(id);
      (void)index.member(id);
    }
  } catch (const Error&) {
  }
}

void put(std::vector<std::uint8_t>& bytes, std::size_t offset, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i, value >>= 8) bytes[offset + i] = static_cast<std::uint8_t>(value);
}

void correct_records(std::vector<std::uint8_t>& bytes, std::size_t offset, std::span<const std::uint8_t> section,
                     std::uint64_t count) {
  for (std::uint64_t block = 0; block * kBlockRecords < count; ++block) {
    const std::uint64_t begin = block * kBlockRecords * kRecordBytes;
    const std::uint64_t length = std::min<std::uint64_t>(kBlockRecords, count - block * kBlockRecords) * kRecordBytes;
    const std::uint64_t crc = count * kRecordBytes + block * kBlockCrcBytes;
    if (count > section.size() || begin + length > section.size() || crc + kBlockCrcBytes > section.size()) return;
    put(bytes, offset + crc, crc32(section.subspan(begin, length)), kBlockCrcBytes);
  }
}

void correct_blobs(std::vector<std::uint8_t>& bytes, std::size_t offset, std::span<const std::uint8_t> section,
                   std::uint64_t count) {
  for (std::uint64_t id = 0; id < count && (id + 1) * kBlobEntryBytes <= section.size(); ++id) {
    const auto entry = section.subspan(id * kBlobEntryBytes, kBlobEntryBytes);
    const auto blobs =
        section.subspan(std::min<std::uint64_t>(count, section.size() / kBlobEntryBytes) * kBlobEntryBytes);
    const std::uint64_t begin = load_little<std::uint64_t>(entry.data());
    const std::uint32_t length = load_little<std::uint32_t>(entry.data() + 8);
    if (begin > blobs.size() || length > blobs.size() - begin) continue;
    put(bytes, offset + id * kBlobEntryBytes + kBlobCheckedBytes,
        crc32(blobs.subspan(begin, length), crc32(entry.first(kBlobCheckedBytes))), 4);
  }
}

void correct_checksums(std::vector<std::uint8_t>& bytes) {
  if (bytes.size() < kHeaderBytes) return;
  const std::span<const std::uint8_t> all(bytes);
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  put(bytes, 8, kIndexVersion, 4);
  put(bytes, 40, bytes.size(), 8);
  const std::uint64_t count = load_little<std::uint64_t>(bytes.data() + 16);
  const std::size_t max_sections = (bytes.size() - kHeaderBytes) / kSectionBytes;
  const std::size_t sections = std::min<std::size_t>(load_little<std::uint32_t>(bytes.data() + 12), max_sections);
  for (std::size_t i = 0; i < sections; ++i) {
    const std::size_t entry = kHeaderBytes + i * kSectionBytes;
    const std::uint64_t offset = load_little<std::uint64_t>(bytes.data() + entry + 24);
    const std::uint64_t length = load_little<std::uint64_t>(bytes.data() + entry + 32);
    if (offset > bytes.size() || length > bytes.size() - offset) continue;
    const auto section = all.subspan(offset, length);
    switch (load_little<std::uint32_t>(bytes.data() + entry + 44)) {
      case kRecordsKind: correct_records(bytes, offset, section, count); break;
      case kBlobsKind: correct_blobs(bytes, offset, section, count); break;
      default: put(bytes, entry + 40, crc32(section), 4);
    }
  }
  put(bytes, 48, crc32(all.subspan(kHeaderBytes, sections * kSectionBytes)), 4);
  put(bytes, 52, crc32(all.first(52)), 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_everything({data, size});
  std::vector<std::uint8_t> corrected(data, data + size);
  correct_checksums(corrected);
  read_everything(corrected);
  read_as_shard(corrected);
  return 0;
}
