#include "unstarve/core/utf8.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unstarve/core/json.h"

namespace unstarve {

bool is_utf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
  return true;
}

std::string valid_utf8(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return std::string(text);
  return parse_json(json_text(nlohmann::json(text))).get<std::string>();
}

}  // namespace unstarve
