#pragma once
// Tests: the ranges that are written to a file while a window is open.

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "unstarve/core/file.h"
#include "unstarve/diagnose/cupti/kernel_log.h"
#include "unstarve/diagnose/cupti/nvtx_ranges.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {

struct RecordedRange {
  std::string name;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint64_t lane = 0;
};

struct RecordedRanges {
  bool all = false;  // none was lost
  std::vector<RecordedRange> list;
  std::map<std::string, int> texts;  // how often a name was written

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const RecordedRange& range : list) names.push_back(range.name);
    return names;
  }
};

// `work` runs in a window.
inline RecordedRanges ranges_recorded(const std::function<void()>& work) {
  const testing::TemporaryFolder folder;
  RecordedRanges recorded;
  {
    KernelLog log;
    if (!log.open(folder.path().c_str())) return recorded;
    forget_ranges();
    open_ranges();
    work();
    close_ranges();
    recorded.all = write_ranges(log);
  }
  const std::string bytes = read_text_file(folder.path() / (std::to_string(getpid()) + ".cupti"));
  std::map<std::uint32_t, std::string> texts;
  for (std::size_t at = sizeof(KernelLogHeader); at < bytes.size();) {
    KernelLogEntry entry;
    std::memcpy(&entry, bytes.data() + at, sizeof entry);
    at += sizeof entry;
    if (entry.kind == KernelLogKind::kName) {
      texts[entry.name] = bytes.substr(at, entry.value);
      ++recorded.texts[texts[entry.name]];
      at += (entry.value + 7) / 8 * 8;
    } else if (entry.kind == KernelLogKind::kRange) {
      recorded.list.push_back({texts.at(entry.name), entry.begin_ns, entry.end_ns, entry.lane});
    }
  }
  return recorded;
}

}  // namespace unstarve
