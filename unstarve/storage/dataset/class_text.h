#pragma once
// A class as people write it into small files: a number or a name. Threads: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace unstarve {

struct ClassText {
  std::int64_t number = -1;  // -1 when it is a name
  std::string_view name;     // empty when it is a number; borrows the text
};

// `text` without the blanks and line ends around it, as a whole number or else as a name. Nothing when it is empty, has
// several lines or is longer than `max_bytes`: that is no class.
[[nodiscard]] std::optional<ClassText> parse_class(std::string_view text, std::size_t max_bytes) noexcept;

}  // namespace unstarve
