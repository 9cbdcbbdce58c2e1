#pragma once
// The program `unstarve` as a function.

namespace unstarve::cli {

// Parses the command line with the command table, runs the verb and prints its result or error; returns the exit code.
// Changes the handlers of SIGINT, SIGTERM, SIGXFSZ and SIGPIPE. Call it once per process.
[[nodiscard]] int run_program(int argc, char** argv);

}  // namespace unstarve::cli
