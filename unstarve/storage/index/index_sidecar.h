#pragma once
// The index sidecar: a file next to the data with the result of one pass over it, so that later runs need no pass.
//
// The sidecar has the location, label and size of each record, and any number of named blobs per record (for example,
// the bit positions in a JPEG). It is a cache: if it is missing, stale or damaged, it is rebuilt.
//
// Layout, version 2, all numbers little-endian, all sections aligned to 8:
//
//   0   magic "UNSTIDX\n"                     8 bytes
//   8   version                               u32
//   12  number of sections                    u32
//   16  number of records                     u64
//   24  bytes of the data                     u64   \  fingerprint: another value means that the data changed
//   32  last change of the data, ns since 1970 i64  /
//   40  bytes of this file                    u64
//   48  CRC-32 of the section table           u32
//   52  CRC-32 of bytes 0..51                 u32
//   56  section table, 48 bytes each:
//         name, padded with at least one NUL  24 bytes   "records", or the name of a kind of blob or of a part
//         offset from the start of the file   u64
//         bytes                               u64
//         CRC-32                              u32        parts: of all bytes; else 0
//         kind                                u32        1 records, 2 blobs, 3 part
//   ..  records, 32 bytes each:  offset u64 | length u64 | file u32 | label i32 | width u32 | height u32
//         then the CRC-32 of every 1,024 records (of the rest, for the last), u32 each
//   ..  blobs:  a table of 16 bytes per record:  offset from the end of the table u64 | length u32 |
//         CRC-32 of the 12 bytes before and of the blob u32;  then the blobs; length 0: the record has none
//   ..  part:   bytes that concern all records: class names, seek points
//
// Ownership: an IndexView borrows the bytes; the result of open_index() and index_in_memory() keeps them.
// Threads:   all const functions may be called concurrently.
// Failure:   Error(kInput) with file and offset for damage and for another version.
// Cost:      opening checks only the header and the section table, so its time does not depend on the number of
//            records; records are checked 1,024 at a time at their first use, blobs and parts at every call.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {

inline constexpr std::uint32_t kIndexVersion = 2;

// Of the layout above; fuzzing corrects checksums with them.
namespace index_layout {

inline constexpr std::string_view kMagic = "UNSTIDX\n";
inline constexpr std::size_t kHeaderBytes = 56;
inline constexpr std::size_t kSectionBytes = 48;
inline constexpr std::size_t kMaxSections = 64;
inline constexpr std::size_t kRecordBytes = 32;
inline constexpr std::size_t kBlockRecords = 1024;  // per checksum: 32 KiB are checked in about 10 us
inline constexpr std::size_t kBlockCrcBytes = 4;
inline constexpr std::size_t kBlobEntryBytes = 16;
inline constexpr std::size_t kBlobCheckedBytes = 12;  // of the entry
inline constexpr std::size_t kAlignment = 8;
inline constexpr std::uint32_t kRecordsKind = 1;
inline constexpr std::uint32_t kBlobsKind = 2;
inline constexpr std::uint32_t kPartKind = 3;
inline constexpr std::size_t kNameBytes = 24;  // with at least one NUL
inline constexpr std::string_view kRecordsName = "records";

}  // namespace index_layout

struct IndexRecord {
  std::uint64_t offset = 0;  // in its file
  std::uint64_t length = 0;
  std::uint32_t file = 0;   // index of the file in the dataset's own order
  std::int32_t label = -1;  // -1: none
  std::uint32_t width = 0;  // upright; 0: unknown
  std::uint32_t height = 0;
  friend bool operator==(const IndexRecord&, const IndexRecord&) = default;
};

struct IndexBlobs {
  std::string name;                              // 1 to 23 bytes of [a-z0-9-], not "records"
  std::vector<std::vector<std::uint8_t>> blobs;  // one per record, empty for none
};

struct IndexPart {
  std::string name;  // as for blobs, and different from theirs
  std::string bytes;
};

// The bytes of a sidecar. Throws Error(kArgument) for invalid or repeated names, and for blobs that are not one per
// record or exceed 4 GiB.
[[nodiscard]] std::string index_bytes(const SourceStamp& data, std::span<const IndexRecord> records,
                                      std::span<const IndexBlobs> blobs = {}, std::span<const IndexPart> parts = {});

// A view of the bytes of an index, separate from their owner so that the parser can be fuzzed.
class IndexView {
 public:
  // `name`: the file, for messages.
  IndexView(std::span<const std::uint8_t> bytes, std::string name);

  [[nodiscard]] const std::string& name() const { return name_; }
  // The version of the data that was indexed.
  [[nodiscard]] const SourceStamp& data() const { return data_; }
  [[nodiscard]] std::uint64_t size() const { return count_; }
  // Precondition: id < size().
  [[nodiscard]] IndexRecord record(std::uint64_t id) const;
  // The argument for blob(); -1 if the file has no blobs of that name.
  [[nodiscard]] int blob_kind(std::string_view name) const;
  // Preconditions: kind from blob_kind(), not -1; id < size(). Empty if the record has none.
  [[nodiscard]] std::span<const std::uint8_t> blob(int kind, std::uint64_t id) const;
  // Nothing if there is no such part.
  [[nodiscard]] std::optional<std::span<const std::uint8_t>> part(std::string_view name) const;
  // As part(), without checking the checksum: for large parts with their own checksums.
  [[nodiscard]] std::optional<std::span<const std::uint8_t>> part_with_own_checksum(std::string_view name) const;
  // Checks all checksums in one pass over the index.
  void check() const;

 private:
  struct Blobs {
    std::string name;
    std::span<const std::uint8_t> table;
    std::span<const std::uint8_t> bytes;
  };
  struct Part {
    std::string name;
    std::span<const std::uint8_t> bytes;
    std::uint32_t crc;
  };

  void check_block(std::uint64_t block) const;
  void add_records(std::uint64_t at, std::span<const std::uint8_t> section);
  void add_blobs(std::uint64_t at, const std::string& name, std::span<const std::uint8_t> section);
  void add_section(std::uint32_t number, std::span<const std::uint8_t> entry);
  [[noreturn]] void damaged(std::uint64_t offset, const std::string& what) const;

  std::span<const std::uint8_t> bytes_;
  std::string name_;
  SourceStamp data_;
  std::uint64_t count_ = 0;
  bool has_records_ = false;
  std::span<const std::uint8_t> records_;
  std::span<const std::uint8_t> block_crcs_;
  mutable std::vector<std::atomic<bool>> checked_;  // by block of records
  std::vector<Blobs> blobs_;
  std::vector<Part> parts_;
};

// Whether the part "made-by" of the index is `maker`.
[[nodiscard]] bool is_made_by(const IndexView& view, std::string_view maker);

// Maps the file. Throws Error(kIo) if it is missing or unreadable.
[[nodiscard]] std::shared_ptr<const IndexView> open_index(const std::string& path);
// An index without a file; `name`: for messages.
[[nodiscard]] std::shared_ptr<const IndexView> index_in_memory(std::string bytes, std::string name);

}  // namespace unstarve
