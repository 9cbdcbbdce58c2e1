#pragma once
// The scan indexes of one shard (codecs/jpeg/index/scan_index.h), written with it by `unstarve pack --scan-index`:
//
//   train-00000.tar     train-00000.tar.jpeg.unstarve-index
//
// The layout is that of scan_index_store.h, complete: one entry per record in the order of the shard; the key is the
// length of the shard. The contents are not trusted: the decoder compares them with the image.
//
// Threads:   as plain data; a ScanIndexFile is shared as const.
// Failure:   a file of another shard, with a damaged header, or unreadable is not used, and the reason is returned; a
//            damaged index is reported.
// Cost:      a map of the file and no descriptor; find() computes a checksum of the index, about 300 bytes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

// The result of a look-up of an index.
enum class FoundIndex { kNone, kRight, kDamaged };

// The parts of a file of scan indexes; drawn in scan_index_store.h. Pure functions.
namespace scan_index_layout {

inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::size_t kEntryBytes = 16;
// More than the index of any supported image: 4 million MCUs at 20 bytes for eight of them.
inline constexpr std::uint32_t kMaxBytes = 16u << 20;

using Entry = std::array<std::uint8_t, kEntryBytes>;

[[nodiscard]] std::string header_of(std::uint64_t records, std::uint64_t key);
enum class Head {
  kDamaged,
  kOtherVersion,  // of the layout; other fields are unknown
  kWhole,         // of this version, for any data
};
[[nodiscard]] Head head_of(std::span<const std::uint8_t, kHeaderBytes> header);
// Precondition: head_of() is kWhole.
[[nodiscard]] std::uint64_t records_of(std::span<const std::uint8_t, kHeaderBytes> header);
[[nodiscard]] std::uint64_t key_of(std::span<const std::uint8_t, kHeaderBytes> header);
// The entry of an index at `offset` of the file.
[[nodiscard]] Entry entry_of(std::uint64_t offset, std::span<const std::uint8_t> index);
// Whether the kEntryBytes are all 0: no index.
[[nodiscard]] bool is_empty(const std::uint8_t* entry);
[[nodiscard]] constexpr std::uint64_t entry_offset(std::uint64_t id) { return kHeaderBytes + id * kEntryBytes; }

}  // namespace scan_index_layout

// The path of a shard's file of scan indexes.
[[nodiscard]] std::string scan_index_path(const std::string& shard);

// Collects the scan indexes of a shard while it is written.
class ScanIndexBuilder {
 public:
  // Adds the index of the next record; empty if it has none.
  void add(std::span<const std::uint8_t> index);
  // Whether no record has an index.
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  // The bytes of the file for a shard of `shard_bytes`.
  [[nodiscard]] std::string file(std::uint64_t shard_bytes) const;

 private:
  std::vector<std::uint32_t> lengths_;  // of the index of each record
  std::string bytes_;                   // concatenated
};

// A view of the bytes of such a file.
class ScanIndexView {
 public:
  // Why `file` does not belong to a shard with `records` and `shard_bytes`; empty if it does.
  [[nodiscard]] static std::string why_not_of(std::span<const std::uint8_t> file, std::uint64_t records,
                                              std::uint64_t shard_bytes);
  // Precondition: why_not_of() is empty.
  explicit ScanIndexView(std::span<const std::uint8_t> file) : file_(file) {}
  struct Found {
    FoundIndex what = FoundIndex::kNone;
    std::span<const std::uint8_t> bytes{};  // kRight
  };
  // The index of a record. Precondition: record < records.
  [[nodiscard]] Found find(std::uint64_t record) const;

 private:
  std::span<const std::uint8_t> file_;
};

class ScanIndexFile {
 public:
  // Null if the local shard has no file, or a file that cannot be used. In the second case `why_not` has the path and
  // the reason, otherwise it is empty.
  [[nodiscard]] static std::shared_ptr<const ScanIndexFile> open(const std::string& shard, std::uint64_t records,
                                                                 std::string& why_not);
  // Copies the index to `bytes`; nothing if there is none or it is damaged. Precondition: record < records.
  [[nodiscard]] FoundIndex find(std::uint64_t record, std::vector<std::uint8_t>& bytes) const;

 private:
  explicit ScanIndexFile(std::shared_ptr<const ByteSource> file) : file_(std::move(file)), view_(file_->mapped()) {}

  std::shared_ptr<const ByteSource> file_;
  ScanIndexView view_;
};

// Records [first, first + records) of a dataset whose scan indexes are in a file next to their shard.
struct ScanIndexPart {
  std::uint64_t first = 0;
  std::uint64_t records = 0;
  std::shared_ptr<const ScanIndexFile> file;
};

struct PackedIndexes {
  std::vector<ScanIndexPart> parts;   // in record order
  std::vector<std::string> not_used;  // path and reason of each file that exists but is not used
};

// The scan index files of all shards of a dataset. Ignores URLs.
[[nodiscard]] PackedIndexes packed_indexes_of(const Dataset& data);

}  // namespace unstarve
