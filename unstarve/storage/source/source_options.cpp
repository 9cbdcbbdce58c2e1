#include "unstarve/storage/source/source_options.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve {

std::size_t options_at(const std::string& text) {
  constexpr const char* kKey = "abcdefghijklmnopqrstuvwxyz_";
  std::size_t first = std::string::npos, found = std::string::npos;
  for (std::size_t at = text.find('#'); at != std::string::npos; at = text.find('#', at + 1)) {
    const std::size_t end = text.find_first_not_of(kKey, at + 1);
    if (end == std::string::npos || end == at + 1 || text[end] != '=') continue;
    first = std::min(first, at);
    if (std::error_code failed; !is_url(text) && std::filesystem::exists(text.substr(0, at), failed)) found = at;
  }
  if (first != std::string::npos) return found != std::string::npos ? found : first;
  const std::size_t last = text.rfind('#');
  return last == std::string::npos || text.find('/', last) != std::string::npos ? std::string::npos : last;
}

SourceOptions::SourceOptions(const std::string& text, std::size_t separator) : text_(text) {
  if (separator == std::string::npos) return;
  std::string rest = text.substr(separator + 1);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string option = rest.substr(0, comma);
    rest = comma == std::string::npos ? std::string() : rest.substr(comma + 1);
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw argument_error("open {}: found '{}'; expected key=value", text_, option);
    }
    if (!values_.emplace(option.substr(0, equals), option.substr(equals + 1)).second) {
      throw argument_error("open {}: option '{}' is given twice", text_, option.substr(0, equals));
    }
  }
}

std::uint64_t SourceOptions::take(const std::string& key, std::uint64_t otherwise, std::uint64_t low,
                                  std::uint64_t high) {
  known_ += (known_.empty() ? "" : ", ") + key;
  const auto found = values_.find(key);
  if (found == values_.end()) return otherwise;
  std::string value = found->second;
  values_.erase(found);
  const std::optional<std::uint64_t> number = parse_number<std::uint64_t>(value);
  if (!number || *number < low || *number > high) {
    throw argument_error("open {}: option {} is '{}'; expected an integer from {} to {}", text_, key, value, low, high);
  }
  return *number;
}

std::string SourceOptions::take_text(const std::string& key, const std::string& otherwise) {
  known_ += (known_.empty() ? "" : ", ") + key;
  const auto found = values_.find(key);
  if (found == values_.end()) return otherwise;
  std::string value = found->second;
  values_.erase(found);
  if (value.empty()) {
    throw argument_error("open {}: option {} is empty; expected a value", text_, key);
  }
  return value;
}

bool SourceOptions::take_class_names() {
  const std::string value = take_text("classes", "");
  if (value.empty() || value == "names") return !value.empty();
  throw argument_error("open {}: option classes is '{}'; expected names", text_, value);
}

void SourceOptions::give(const std::string& key, const std::string& value) {
  if (values_.emplace(key, value).second) return;
  throw argument_error("open {}: found {}={} in the path and {} '{}' as an argument; expected one of them", text_, key,
                       values_.at(key), key, value);
}

void SourceOptions::reject_unknown() const {
  if (values_.empty()) return;
  throw argument_error("open {}: unknown option '{}'; expected one of {}", text_, values_.begin()->first, known_);
}

bool SourceOptions::names(const std::string& text, const std::string& name) noexcept {
  return text.compare(0, name.size(), name) == 0 && (text.size() == name.size() || text[name.size()] == ':');
}

}  // namespace unstarve
