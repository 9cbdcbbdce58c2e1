#pragma once
// A quarantine list: which records are left out. One JSON object a line, as training and packing list damaged records
// (quarantine_entry.h).
//
// Files may be written relative to the working folder, relative to the source, or absolute.
//
// Threads: const after construction. Failure: Error(kIo); Error(kInput) with the line for one that is no entry.

#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "unstarve/jobs/pack/pack_keys.h"

namespace unstarve {

class ExcludeList {
 public:
  // Empty.
  ExcludeList() = default;
  ExcludeList(const std::filesystem::path& list, const PackKeys& keys);

  // Whether the record at `place` is on the list.
  [[nodiscard]] bool holds(const RecordLocation& place, const PackKeys& keys) const;
  [[nodiscard]] bool empty() const { return files_.empty(); }
  // How many different places are on the list.
  [[nodiscard]] std::uint64_t size() const;

 private:
  struct Listed {
    std::unordered_set<std::uint64_t> offsets;
    std::unordered_set<std::uint64_t> records;
  };
  std::unordered_map<std::string, Listed> files_;  // by the relative path
};

}  // namespace unstarve
