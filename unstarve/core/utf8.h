#pragma once
// UTF-8 check for names of files and classes, which may be arbitrary bytes; JSON and YAML require UTF-8.
//
// Threads: free functions. Failure: none.

#include <string>

namespace unstarve {

[[nodiscard]] bool is_utf8(const std::string& text);

}  // namespace unstarve
