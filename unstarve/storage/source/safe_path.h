#pragma once
// Checks paths that are read from data, such as archive members. Threads: pure functions.

#include <algorithm>
#include <string_view>

namespace unstarve {

// Whether `path` is empty, absolute or has a component "..": such a path could refer to a file outside of a folder.
[[nodiscard]] inline bool leaves_folder(std::string_view path) noexcept {
  if (path.empty() || path.front() == '/') return true;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (path.substr(0, slash) == "..") return true;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return false;
}

}  // namespace unstarve
