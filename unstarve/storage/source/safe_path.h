#pragma once
// Whether a path that stands in somebody's data may be followed. Threads: pure functions.

#include <algorithm>
#include <string_view>

namespace unstarve {

// Empty, absolute, or with a component "..": what must not become a path below a folder of ours.
[[nodiscard]] inline bool leads_out(std::string_view path) noexcept {
  if (path.empty() || path.front() == '/') return true;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (path.substr(0, slash) == "..") return true;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return false;
}

}  // namespace unstarve
