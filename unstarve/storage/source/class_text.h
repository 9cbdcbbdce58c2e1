#pragma once
// A class in a small text file: a number or a name. Threads: pure functions.

#include <cstdint>
#include <optional>
#include <string_view>

#include "unstarve/storage/bytes/text.h"

namespace unstarve {

struct ClassText {
  std::int64_t number = -1;  // -1 for a name
  std::string_view name;     // empty for a number; borrows the text
};

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
