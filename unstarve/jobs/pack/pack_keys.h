#pragma once
// Identifies the samples of a source by keys made from their locations (record_location.h).
//
//   location                                           key                            name
//   photos/cat/1.jpg                     of photos     cat/1.jpg                      cat/1.jpg
//   d/x.tar cat/1 record 5 at offset 9   of d/*.tar    x.tar cat/1 record 5           cat/1
//   d/x.tfrecord record 5 at offset 9    of d          x.tfrecord record 5            x.tfrecord-00000005
//   photos/cat/1.jpg (a.csv row 3)       of photos     cat/1.jpg                      cat/1.jpg
//
// Key:  decides the split. Relative to the source, so that moving the data does not change it, and without the offset,
//       so that rewriting earlier records does not change it. An image that a manifest lists twice has one key.
// Name: the name of the packed record; need not be unique.
//
// Threads: pure after construction. Failure: ExcludeList throws Error(kIo), or Error(kInput) with the line number of an
// invalid entry.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "unstarve/core/digest.h"
#include "unstarve/storage/dataset/record_location.h"

namespace unstarve {

class PackKeys {
 public:
  // `source` as passed to open_dataset().
  explicit PackKeys(const std::string& source);

  [[nodiscard]] std::string key(const RecordLocation& location) const;
  [[nodiscard]] std::string name(const RecordLocation& location) const;

  // The path relative to the source, however it is written; unchanged if it is outside the source.
  [[nodiscard]] std::string relative(std::string_view path) const;

 private:
  std::string base_;      // as given, with a trailing slash; "": none
  std::string absolute_;  // the same, absolute and normalised; "" for URLs
};

// A hash that never changes, on any machine: 64-bit FNV-1a, finalised by the mixing function of splitmix64.
[[nodiscard]] std::uint64_t stable_hash(std::string_view text, std::uint64_t before = kFnvBegin) noexcept;

// A quarantine list: records to leave out of a pack, one JSON object per line (quarantine_entry.h). Its files may be
// relative to the working directory, relative to the source, or absolute.
class ExcludeList {
 public:
  ExcludeList() = default;
  ExcludeList(const std::filesystem::path& list, const PackKeys& keys);

  // Whether the list contains the record at `location`.
  [[nodiscard]] bool contains(const RecordLocation& location, const PackKeys& keys) const;
  [[nodiscard]] bool empty() const { return files_.empty(); }
  // Number of distinct records on the list.
  [[nodiscard]] std::uint64_t size() const;

 private:
  struct Listed {
    std::unordered_set<std::uint64_t> offsets;
    std::unordered_set<std::uint64_t> records;
  };
  std::unordered_map<std::string, Listed> files_;  // by relative path
};

}  // namespace unstarve
