#pragma once
// Child processes: one that runs in parallel, and a command whose standard output is passed on line by line.
//
// Threads: one caller per command. Failure: Error(kIo) if the command cannot be started. An exception of the callback
// of run_child() ends the command by SIGTERM and is thrown on; the command reads nothing.

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

// Descriptors of this process that become the child's standard streams; -1: inherited.
struct ChildStreams {
  int input = -1;
  int output = -1;
  int errors = -1;
};

// The running process; the destructor ends it by SIGTERM and awaits it.
class ChildProcess {
 public:
  // `command`: the program, searched on PATH, and its arguments. Its environment is `environment`; null: that of this
  // process. It blocks no signals.
  ChildProcess(const std::vector<std::string>& command, const ChildStreams& streams,
               const std::map<std::string, std::string>* environment = nullptr);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  // Waits for its end. Returns the exit code; 128 + signal if a signal ended it.
  int wait();
  [[nodiscard]] bool has_ended();
  [[nodiscard]] pid_t id() const { return id_; }         // 0 after has_ended() or wait() has seen its end
  [[nodiscard]] double cpu_s() const { return cpu_s_; }  // that it has used; known at its end

 private:
  bool reap(int options);  // true: it has ended

  pid_t id_ = 0;
  int status_ = 0;
  double cpu_s_ = 0;
};

struct ChildResult {
  int status = 0;          // as ChildProcess::wait()
  std::string last_error;  // last line of its standard error
};

ChildResult run_child(const std::vector<std::string>& command, const std::function<void(std::string_view)>& line);

}  // namespace unstarve
