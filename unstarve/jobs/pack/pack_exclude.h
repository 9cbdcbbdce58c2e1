#pragma once
// A quarantine list: which records are left out. One JSON object a line, {"file": ..., "offset": ..., "reason": ...}, as
// training and packing list damaged records; the offset may be missing for a file that is one record.
//
// Files may be written relative to the working folder, relative to the source, or absolute.
//
// Threads: const after construction. Failure: Error(kIo); Error(kInput) with the line for one that is no entry.

#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "unstarve/jobs/pack/pack_key.h"

namespace unstarve {

class ExcludeList {
 public:
  // Empty.
  ExcludeList() = default;
  ExcludeList(const std::filesystem::path& list, const PackKeys& keys);

  // Whether the record at `location` is on the list.
  [[nodiscard]] bool holds(const std::string& location, const PackKeys& keys) const;
  [[nodiscard]] bool empty() const { return places_.empty(); }
  // How many different places are on the list.
  [[nodiscard]] std::uint64_t size() const;

 private:
  std::unordered_map<std::string, std::unordered_set<std::uint64_t>> places_;  // relative file to offsets
};

}  // namespace unstarve
