#pragma once
// Runs a command and passes on its standard output line by line.
//
// Threads: one caller per command. Failure: Error(kIo) if the command cannot be started. An exception of the callback
// ends the command by SIGTERM and is thrown on. The command inherits the environment and reads nothing.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

struct ChildResult {
  int status = 0;          // exit code; 128 + signal if a signal ended it
  std::string last_error;  // last line of its standard error
};

// `command`: the program, searched on PATH, and its arguments.
ChildResult run_child(const std::vector<std::string>& command, const std::function<void(std::string_view)>& line);

}  // namespace unstarve
