#pragma once
// A class as text: a number or a name. The rule for texts that are labels of another kind, for all formats: a number
// that is not whole and a list of values are not classes. Threads: pure functions.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "unstarve/storage/bytes/text.h"

namespace unstarve {

struct ClassText {
  std::int64_t number = -1;  // -1 for a name
  std::string_view name;     // empty for a number; borrows the text
};

// What `text` is if it cannot be a class: "the float 0.5", "several values: 1 4 7"; empty if it may be one.
[[nodiscard]] inline std::string not_a_class(std::string_view text) {
  constexpr std::size_t kShown = 40;
  text = trim(text);
  const auto shown = [&] {
    std::string line = std::string(text.substr(0, kShown)) + (text.size() > kShown ? "..." : "");
    std::ranges::replace(line, '\n', ' ');
    return line;
  };
  const auto is_number = [](std::string_view part) {
    if (part.empty() || part.find_first_not_of("0123456789+-.eE") != std::string_view::npos) return false;
    if (part.front() == '+') part.remove_prefix(1);
    double number = 0;
    const auto [end, failed] = std::from_chars(part.data(), part.data() + part.size(), number);
    return failed != std::errc::invalid_argument && end == part.data() + part.size();
  };
  if (text.empty() || parse_number<std::int64_t>(text)) return "";
  if (is_number(text)) return "the float " + shown();
  const bool brackets =
      text.size() > 1 && ((text.front() == '[' && text.back() == ']') || (text.front() == '{' && text.back() == '}'));
  std::size_t parts = 0, numbers = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n,;|", at), text.size());
    parts += end > at ? 1 : 0;
    numbers += is_number(text.substr(at, end - at)) ? 1 : 0;
    at = end + 1;
  }
  const bool separated = parts > 1 && text.find_first_of(";|") != std::string_view::npos;
  return brackets || separated || (parts > 1 && numbers == parts) ? "several values: " + shown() : "";
}

// Parses `text`, trimmed, as a whole number or else as a name. Nothing if it is empty, has several lines or is longer
// than `max_bytes`.
[[nodiscard]] inline std::optional<ClassText> parse_class(std::string_view text, std::size_t max_bytes) noexcept {
  text = trim(text);
  if (text.empty() || text.size() > max_bytes ||
      text.find_first_of(std::string_view("\n\0", 2)) != std::string_view::npos) {
    return std::nullopt;
  }
  if (const auto number = parse_number<std::int64_t>(text)) return ClassText{*number, {}};
  return ClassText{-1, text};
}

}  // namespace unstarve
