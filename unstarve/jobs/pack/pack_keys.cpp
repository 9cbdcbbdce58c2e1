#include "unstarve/jobs/pack/pack_keys.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/dataset/quarantine_entry.h"
#include "unstarve/storage/source/source_options.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

std::string base_of(std::string text) {
  text = text.substr(0, options_at(text));
  const bool url = is_url(text);
  std::error_code none;
  if (!url && fs::is_directory(text, none)) {
    while (text.size() > 1 && text.back() == '/') text.pop_back();
    return text == "/" ? text : text + "/";
  }
  if (!url && fs::exists(text, none)) return text.substr(0, text.rfind('/') + 1);
  text = text.substr(0, text.find_first_of("*?[{"));
  return text.substr(0, text.rfind('/') + 1);
}

}  // namespace

PackKeys::PackKeys(const std::string& source) : base_(base_of(source)) {
  if (is_url(source)) return;
  std::error_code none;
  absolute_ = fs::absolute(base_.empty() ? "." : base_, none).lexically_normal().string();
  if (!absolute_.ends_with('/')) absolute_ += '/';
}

std::string PackKeys::relative(std::string_view path) const {
  if (!base_.empty() && path.starts_with(base_)) {
    path.remove_prefix(base_.size());
    while (path.starts_with('/')) path.remove_prefix(1);
    return std::string(path);
  }
  if (absolute_.empty()) return std::string(path);
  std::error_code none;
  const std::string whole = fs::absolute(path, none).lexically_normal().string();
  return whole.starts_with(absolute_) ? whole.substr(absolute_.size()) : std::string(path);
}

std::string PackKeys::key(const RecordLocation& location) const {
  std::string key = relative(location.file);
  if (!location.list.empty()) return key;
  if (!location.member.empty()) key += " " + location.member;
  if (location.number) key += " record " + std::to_string(*location.number);
  return key;
}

std::string PackKeys::name(const RecordLocation& location) const {
  if (!location.member.empty()) return location.member;
  if (!location.number || !location.list.empty()) return relative(location.file);
  return fmt::format("{}-{:08}", relative(location.file), *location.number);
}

std::uint64_t stable_hash(std::string_view text, std::uint64_t before) noexcept {
  std::uint64_t hash = fnv1a(text, before);
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31);
}

ExcludeList::ExcludeList(const std::filesystem::path& list, const PackKeys& keys) {
  std::istringstream lines(read_text_file(list));
  std::string line;
  for (std::uint64_t number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const QuarantineEntry entry = quarantine_entry_from_json(
        try_parse_ordered_json(line), fmt::format("--exclude {}: line {}", list.string(), number));
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
