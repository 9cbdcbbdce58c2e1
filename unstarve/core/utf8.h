#pragma once
// UTF-8 check for names of files and classes, which may be arbitrary bytes; JSON and YAML require UTF-8.
//
// Threads: free functions. Failure: none.

#include <string>
#include <string_view>

namespace unstarve {

[[nodiscard]] bool is_utf8(const std::string& text);
// The text with U+FFFD instead of invalid bytes.
[[nodiscard]] std::string valid_utf8(std::string_view text);

}  // namespace unstarve
