#pragma once
// Writes quarantine lists: records that could not be used, one JSON object per line (quarantine_entry.h). `unstarve
// pack --exclude` reads them.
//
// Threads: free functions. Failure: Error(kIo); an existing list stays unchanged if writing fails.

#include <filesystem>
#include <string>

#include "unstarve/core/file.h"
#include "unstarve/storage/dataset/quarantine_entry.h"

namespace unstarve {

// `bad`: a list of elements with a location and a reason, such as BadSample or CorruptRecord.
template <class List>
[[nodiscard]] std::string quarantine_lines(const List& bad) {
  std::string lines;
  for (const auto& record : bad) lines += quarantine_line(record.location, record.reason);
  return lines;
}

template <class List>
void write_quarantine(const std::filesystem::path& path, const List& bad) {
  write_file_atomically(path, quarantine_lines(bad));
}

}  // namespace unstarve
