#include "unstarve/jobs/pack/exclude_list.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "unstarve/core/file.h"
#include "unstarve/storage/dataset/quarantine_entry.h"

namespace unstarve {

ExcludeList::ExcludeList(const std::filesystem::path& list, const PackKeys& keys) {
  std::istringstream lines(read_text_file(list));
  std::string line;
  for (std::uint64_t number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const QuarantineEntry entry =
        quarantine_entry_from_json(nlohmann::ordered_json::parse(line, nullptr, /*allow_exceptions=*/false),
                                   fmt::format("--exclude {}: line {}", list.string(), number));
    Listed& listed = files_[keys.relative(entry.file)];
    if (entry.offset) listed.offsets.insert(*entry.offset);
    if (entry.record) listed.records.insert(*entry.record);
  }
}

bool ExcludeList::contains(const RecordLocation& location, const PackKeys& keys) const {
  if (files_.empty()) return false;
  const auto listed = files_.find(keys.relative(location.file));
  if (listed == files_.end()) return false;
  const QuarantineEntry entry = quarantine_entry(location, "");
  return entry.offset ? listed->second.offsets.contains(*entry.offset) : listed->second.records.contains(*entry.record);
}

std::uint64_t ExcludeList::size() const {
  std::uint64_t entries = 0;
  for (const auto& [file, listed] : files_) entries += listed.offsets.size() + listed.records.size();
  return entries;
}

}  // namespace unstarve
