#pragma once
// Messages of the JSON library in terms of the file: without the names and numbers of its exceptions.
//
// Threads: pure functions. Failure: none.

#include <string>
#include <string_view>

namespace unstarve {

// "[json.exception.out_of_range.403] (/machine) key 'a' not found" becomes "machine: key 'a' not found", and a path of
// several parts "machine/threads/0: ..." (only files that define JSON_DIAGNOSTICS have paths). Messages of the parser
// state line and column.
[[nodiscard]] inline std::string json_problem(std::string_view what) {
  if (const auto end = what.find("] "); what.starts_with("[json.exception.") && end != std::string_view::npos)
    what.remove_prefix(end + 2);
  if (const auto end = what.find(") "); what.starts_with("(/") && end != std::string_view::npos)
    return std::string(what.substr(2, end - 2)) + ": " + std::string(what.substr(end + 2));
  return std::string(what);
}

}  // namespace unstarve
