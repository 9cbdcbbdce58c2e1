#pragma once
// A quarantine list: records to leave out of a pack, one JSON object per line (quarantine_entry.h).
//
// Files in the list may be relative to the working directory, relative to the source, or absolute.
//
// Threads: const after construction. Failure: Error(kIo); Error(kInput) with the line number of an invalid entry.

#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "unstarve/jobs/pack/pack_keys.h"

namespace unstarve {

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
