#include "unstarve/core/json.h"

#include <nlohmann/json.hpp>

namespace unstarve {

using nlohmann::json;
using nlohmann::ordered_json;

json parse_json(std::string_view text) { return json::parse(text); }
ordered_json parse_ordered_json(std::string_view text) { return ordered_json::parse(text); }

json try_parse_json(std::string_view text) { return json::parse(text, nullptr, /*allow_exceptions=*/false); }
ordered_json try_parse_ordered_json(std::string_view text) {
  return ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
}

std::string json_text(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}
std::string json_text(const ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace unstarve
