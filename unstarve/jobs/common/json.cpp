#include "unstarve/jobs/common/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"

namespace unstarve {

JsonReader::JsonReader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
  if (!json_.is_object()) reject("not an object");
}

void JsonReader::reject(const std::string& what) const { throw Error(ErrorKind::kInput, where_ + ": " + what); }

void JsonReader::only(std::initializer_list<std::string_view> keys) const {
  for (const auto& item : json_.items()) {
    if (std::ranges::find(keys, item.key()) == keys.end()) reject("unknown key \"" + item.key() + "\"");
  }
}

bool JsonReader::has(const char* key) const { return json_.contains(key); }

bool JsonReader::given(const char* key) const { return has(key) && !json_.at(key).is_null(); }

const Json& JsonReader::at(const char* key) const {
  if (!has(key)) reject(fmt::format("\"{}\" is missing", key));
  return json_.at(key);
}

std::string JsonReader::text(const char* key) const {
  if (!at(key).is_string()) reject(fmt::format("\"{}\" is not a string", key));
  return at(key).get<std::string>();
}

std::uint64_t JsonReader::number(const char* key) const {
  if (!at(key).is_number_unsigned()) reject(fmt::format("\"{}\" is not a non-negative integer", key));
  return at(key).get<std::uint64_t>();
}

const Json& JsonReader::list(const char* key) const {
  if (!at(key).is_array()) reject(fmt::format("\"{}\" is not an array", key));
  return at(key);
}

const Json& JsonReader::object(const char* key) const {
  if (!at(key).is_object()) reject(fmt::format("\"{}\" is not an object", key));
  return at(key);
}

bool JsonReader::optional_flag(const char* key) const {
  if (!given(key)) return false;
  if (!at(key).is_boolean()) reject(fmt::format("\"{}\" is neither true nor false", key));
  return at(key).get<bool>();
}

void JsonReader::each(const char* key, const std::function<void(const Json&, const std::string&)>& visit) const {
  if (!has(key)) return;
  std::size_t index = 0;
  for (const Json& element : list(key)) visit(element, fmt::format("{}.{}[{}]", where_, key, index++));
}

}  // namespace unstarve
