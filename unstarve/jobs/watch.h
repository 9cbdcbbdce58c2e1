#pragma once
// `unstarve watch`: explain why a program that trains is slow, without changing it.
//
// A command is started with the standard streams and the signal settings of this process, and runs on if this process
// ends. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT and SIGWINCH that this process receives are passed
// on to it, unless the terminal has sent them to both. Children of the command whose parents end become children of
// this process.
//
// Threads: one caller, in a process with one thread.
// Failure: Error of MetricsServer; CommandFailed if the command cannot be started; Error(kInput) if there is no process
//          `pid`; Error(kIo) if it cannot be waited for. If watching fails, the command runs on to its end, and the
//          profile has its exit code and the reason in watching.stopped.

#include <string>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/observe/report.h"

namespace unstarve {

// Exit codes as those of env, nohup and timeout.
class CommandFailed : public Error {
 public:
  CommandFailed(const Error& error, int exit_code) : Error(error), exit_code_(exit_code) {}
  [[nodiscard]] int exit_code() const noexcept { return exit_code_; }  // 127: not found; 126: cannot be executed

 private:
  int exit_code_;
};

struct WatchOptions {
  std::vector<std::string> command;  // program and arguments; empty: the process `pid`
  int pid = 0;
  double seconds = 0;    // at most; 0: until the program ends
  bool kernels = true;   // record those of NVIDIA GPUs in programs that are started, see diagnose/cupti/kernel_log.h
  bool confirm = false;  // slows processes to confirm the bottleneck, see slowdown_probe.h; only for a command
  std::string metrics;   // address of a server for Prometheus, see metrics_server.h; empty: none
};

struct WatchResult {
  RunProfile profile;
  std::vector<RunFinding> findings;
};

[[nodiscard]] WatchResult run_watch(const WatchOptions& options);
// The same for a program that was watched before.
[[nodiscard]] WatchResult explain_run(RunProfile profile);

// Defined in watch_report.cpp. `command`: the command line, shown in the report.
[[nodiscard]] std::string to_text(const WatchResult& result);
// See diagnosis_to_json() (common/findings.h).
[[nodiscard]] std::string to_json(const WatchResult& result);
[[nodiscard]] Report report_of(const WatchResult& result, const std::string& command);

}  // namespace unstarve
