#pragma once
// The text of --help, generated from the command table. Lines have at most kHelpColumns columns; examples are not
// broken.
//
// Threads: pure functions.

#include <cstddef>
#include <string>

#include "command.h"

namespace unstarve::cli {

inline constexpr std::size_t kHelpColumns = 100;

// Text of `unstarve --help`.
[[nodiscard]] std::string program_help();
// Text of `unstarve COMMAND --help`.
[[nodiscard]] std::string command_help(const Command& command);

}  // namespace unstarve::cli
