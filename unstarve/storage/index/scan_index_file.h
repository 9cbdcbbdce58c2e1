#pragma once
// The scan indexes of one shard (codecs/jpeg/index/scan_index.h), written with it by `unstarve pack --scan-index`:
//
//   train-00000.tar     train-00000.tar.jpeg.unstarve-index
//
// The layout is that of scan_index_store.h, complete: an entry for each record of the shard, in its order, and the key
// is the shard's length. What is found is not trusted: the decoder compares it with the image.
//
// Threads:   as plain data; ScanIndexFile is shared as const.
// Failure:   a file that is of another shard, damaged in its head or not to be read is not used, and it is told why; a
//            damaged index is told.
// Cost:      a map of the file and no descriptor; find() sums the index, some 300 bytes.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/index/scan_index_layout.h"

namespace unstarve {

// The name of a shard's file of indexes.
[[nodiscard]] std::string scan_index_beside(const std::string& shard);

// Collects the indexes of a shard while it is written.
class ScanIndexBuilder {
 public:
  // Of the next record; empty for one that has none.
  void add(std::span<const std::uint8_t> index);
  // Whether no record has one.
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  // The file's bytes, for a shard of so many.
  [[nodiscard]] std::string file(std::uint64_t shard_bytes) const;

 private:
  std::vector<std::uint32_t> lengths_;  // of each record's
  std::string bytes_;                   // one after the other
};

// Such a file's bytes, borrowed.
class ScanIndexView {
 public:
  // Why `file` is not one of a shard with so many records and bytes; empty where it is.
  [[nodiscard]] static std::string why_not_of(std::span<const std::uint8_t> file, std::uint64_t records,
                                              std::uint64_t shard_bytes);
  [[nodiscard]] static bool is_of(std::span<const std::uint8_t> file, std::uint64_t records,
                                  std::uint64_t shard_bytes) {
    return why_not_of(file, records, shard_bytes).empty();
  }
  // Precondition: is_of().
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
  // Null where the local shard has none, and where it has one that is not used: then `why_not` names it and tells why,
  // else it is empty.
  [[nodiscard]] static std::shared_ptr<const ScanIndexFile> open(const std::string& shard, std::uint64_t records,
                                                                 std::string& why_not);
  // Copies the index to `bytes`, none where there is none, or a damaged one. Precondition: record < records.
  [[nodiscard]] FoundIndex find(std::uint64_t record, std::vector<std::uint8_t>& bytes) const;

 private:
  explicit ScanIndexFile(std::shared_ptr<const ByteSource> file) : file_(std::move(file)), view_(file_->mapped()) {}

  std::shared_ptr<const ByteSource> file_;
  ScanIndexView view_;
};

// Records [first, first + records) of a data set that have their indexes in a file beside their shard.
struct ScanIndexPart {
  std::uint64_t first = 0;
  std::uint64_t records = 0;
  std::shared_ptr<const ScanIndexFile> file;
};

struct BroughtIndexes {
  std::vector<ScanIndexPart> parts;   // in the order of their records
  std::vector<std::string> not_used;  // of each file that is there and is not used: which, and why
};

// Of all shards of a data set that have one. Of URLs none is looked for.
[[nodiscard]] BroughtIndexes brought_indexes(const Dataset& data);

}  // namespace unstarve
