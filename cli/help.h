#pragma once
// What --help prints, from the command table: at most kHelpColumns wide, but for an example that cannot be broken.
//
// Threads: pure functions.

#include <cstddef>
#include <string>

#include "command.h"

namespace unstarve::cli {

inline constexpr std::size_t kHelpColumns = 100;

// Of `unstarve --help`: the verbs, and where to begin.
[[nodiscard]] std::string program_help();
// Of `unstarve VERB --help`.
[[nodiscard]] std::string verb_help(const Command& command);

}  // namespace unstarve::cli
