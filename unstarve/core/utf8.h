#pragma once
// Names of files and classes are bytes of any kind; JSON and YAML hold UTF-8 alone.
//
// Threads: free functions. Failure: none.

#include <string>

namespace unstarve {

[[nodiscard]] bool is_utf8(const std::string& text);

}  // namespace unstarve
