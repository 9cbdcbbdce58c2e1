#include "unstarve/storage/dataset/class_text.h"

#include <charconv>

namespace unstarve {

std::optional<ClassText> parse_class(std::string_view text, std::size_t max_bytes) noexcept {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return std::nullopt;
  text = text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
  if (text.size() > max_bytes || text.find_first_of(std::string_view("\n\0", 2)) != std::string_view::npos) {
    return std::nullopt;
  }
  ClassText parsed;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), parsed.number);
  if (failed == std::errc() && end == text.data() + text.size()) return parsed;
  return ClassText{-1, text};
}

}  // namespace unstarve
