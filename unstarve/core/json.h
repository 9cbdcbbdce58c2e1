#pragma once
// JSON values of nlohmann's library from text and to text. Its parser and its writer take seconds to compile in every
// file that calls them; here they are compiled once.
//
// Threads: free functions.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace unstarve {

// Throw nlohmann::json::parse_error with the position of the fault. An ordered_json keeps the order of keys.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);
[[nodiscard]] nlohmann::ordered_json parse_ordered_json(std::string_view text);

// Return a value with is_discarded() if the text is not JSON.
[[nodiscard]] nlohmann::json try_parse_json(std::string_view text);
[[nodiscard]] nlohmann::ordered_json try_parse_ordered_json(std::string_view text);

// JSON must be UTF-8, but file names need not be: invalid bytes become U+FFFD. `indent` -1: one line.
[[nodiscard]] std::string json_text(const nlohmann::json& json, int indent = -1);
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace unstarve
