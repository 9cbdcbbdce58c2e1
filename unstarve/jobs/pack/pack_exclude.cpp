#include "unstarve/jobs/pack/pack_exclude.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"

namespace unstarve {

ExcludeList::ExcludeList(const std::filesystem::path& list, const PackKeys& keys) {
  std::istringstream lines(read_text_file(list));
  std::string line;
  for (std::uint64_t number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto refuse = [&](const char* what) {
      throw Error(ErrorKind::kInput, fmt::format("--exclude {}: line {}: {}; expected "
                                                 "{{\"file\": \"...\", \"offset\": 0, \"reason\": \"...\"}}",
                                                 list.string(), number, what));
    };
    const nlohmann::json entry = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!entry.is_object()) refuse("it is no JSON object");
    if (!entry.contains("file") || !entry["file"].is_string()) refuse("\"file\" is missing, or no text");
    const bool whole = !entry.contains("offset") || entry["offset"].is_null();
    if (!whole && !entry["offset"].is_number_unsigned()) refuse("\"offset\" is no whole number");
    places_[keys.relative(entry["file"].get<std::string>())].insert(whole ? 0 : entry["offset"].get<std::uint64_t>());
  }
}

bool ExcludeList::holds(const std::string& location, const PackKeys& keys) const {
  if (places_.empty()) return false;
  const RecordPlace place = PackKeys::place(location);
  const auto found = places_.find(keys.relative(place.file));
  return found != places_.end() && found->second.contains(place.offset);
}

std::uint64_t ExcludeList::size() const {
  std::uint64_t entries = 0;
  for (const auto& [file, offsets] : places_) entries += offsets.size();
  return entries;
}

}  // namespace unstarve
