#pragma once
// Finds the unknown command or option on a command line that could not be parsed, and suggests similar names.
//
// Threads: free functions. Failure: none.

#include <span>
#include <string>
#include <string_view>

namespace unstarve::cli {

// A message about the first unknown command or option in `words` (the command line without the program's name), with
// the most similar names. Lists the commands if `words` is empty. Returns "" if every name is known.
[[nodiscard]] std::string unknown_name(std::span<const std::string_view> words);

}  // namespace unstarve::cli
