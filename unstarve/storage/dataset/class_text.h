#pragma once
// A class in a small text file: a number or a name. Threads: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace unstarve {

struct ClassText {
  std::int64_t number = -1;  // -1 for a name
  std::string_view name;     // empty for a number; borrows the text
};

// Parses `text`, trimmed, as a whole number or else as a name. Nothing if it is empty, has several lines or is longer
// than `max_bytes`.
[[nodiscard]] std::optional<ClassText> parse_class(std::string_view text, std::size_t max_bytes) noexcept;

}  // namespace unstarve
