#pragma once
// The program `unstarve` as a function.

#include <optional>

#include "unstarve/jobs/host/start_environment.h"

namespace unstarve::cli {

// kApplyHostSettings: the process is the program, which may start itself again (host_start.h). kAsItIs: the caller has
// applied start_environment().
enum class Start { kAsItIs, kApplyHostSettings };

// Parses the command line with the command table, runs the command and prints its result or error; returns the exit
// code. Changes the handlers of SIGINT, SIGTERM, SIGXFSZ and SIGPIPE. Call it once per process.
[[nodiscard]] int run_program(int argc, char** argv, Start start = Start::kAsItIs);

// The environment for the host settings of the command line. Nothing if the command line is invalid or requests help
// only: that is printed, and `code` is the exit code.
[[nodiscard]] std::optional<StartEnvironment> start_environment(int argc, char** argv, int& code);

}  // namespace unstarve::cli
