#include "unstarve/storage/source/source_options.h"

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve {

SourceOptions::SourceOptions(const std::string& text, char separator) : text_(text) {
  const std::size_t colon = text.find(separator);
  if (colon == std::string::npos) return;
  std::string rest = text.substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string option = rest.substr(0, comma);
    rest = comma == std::string::npos ? std::string() : rest.substr(comma + 1);
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Error(ErrorKind::kArgument, "open " + text_ + ": found '" + option + "'; expected key=value");
    }
    if (!values_.emplace(option.substr(0, equals), option.substr(equals + 1)).second) {
      throw Error(ErrorKind::kArgument, "open " + text_ + ": option '" + option.substr(0, equals) + "' is given twice");
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
    throw Error(ErrorKind::kArgument, "open " + text_ + ": option " + key + " is '" + value +
                                          "'; expected an integer from " + std::to_string(low) + " to " +
                                          std::to_string(high));
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
    throw Error(ErrorKind::kArgument, "open " + text_ + ": option " + key + " is empty; expected a value");
  }
  return value;
}

void SourceOptions::give(const std::string& key, const std::string& value) {
  if (values_.emplace(key, value).second) return;
  throw Error(ErrorKind::kArgument, "open " + text_ + ": " + key + "=" + values_.at(key) + " and " + key + "s '" +
                                        value + "'; expected one of them");
}

void SourceOptions::reject_unknown() const {
  if (values_.empty()) return;
  throw Error(ErrorKind::kArgument,
              "open " + text_ + ": unknown option '" + values_.begin()->first + "'; expected one of " + known_);
}

bool SourceOptions::names(const std::string& text, const std::string& name) noexcept {
  return text.compare(0, name.size(), name) == 0 && (text.size() == name.size() || text[name.size()] == ':');
}

}  // namespace unstarve
