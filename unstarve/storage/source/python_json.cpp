#include "unstarve/storage/source/python_json.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "unstarve/core/json.h"

namespace unstarve {
namespace {

// Replaces the constants outside of strings.
std::string without_constants(std::string_view text) {
  constexpr std::array<std::string_view, 3> kConstants = {"NaN", "Infinity", "-Infinity"};
  std::string out;
  out.reserve(text.size());
  bool inside = false;  // of a string
  while (!text.empty()) {
    std::size_t taken = 1;
    std::string_view written = text.substr(0, 1);
    if (inside && text.front() == '\\') {
      taken = std::min<std::size_t>(2, text.size());
      written = text.substr(0, taken);
    } else if (text.front() == '"') {
      inside = !inside;
    }
    for (const std::string_view constant : kConstants) {
      if (inside || !text.starts_with(constant)) continue;
      taken = constant.size();
      written = "null";
    }
    out += written;
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace

nlohmann::json try_parse_python_json(std::string_view text) {
  nlohmann::json value = try_parse_json(text);
  const bool constants = text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos;
  return value.is_discarded() && constants ? try_parse_json(without_constants(text)) : value;
}

}  // namespace unstarve
