#include "unstarve/core/process/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <utility>

#include "unstarve/core/error.h"

extern char** environ;

namespace unstarve {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

File opened(std::FILE* file, const std::string& program) {
  if (!file) throw io_error("start", program, errno);
  return File(file);
}

void for_each_line(std::FILE* file, const std::function<void(std::string_view)>& use) {
  char* line = nullptr;
  std::size_t capacity = 0;
  const auto release = [&](void*) { std::free(line); };
  const std::unique_ptr<void, decltype(release)> owner(&line, release);
  for (ssize_t length = 0; (length = getline(&line, &capacity, file)) >= 0;) {
    while (length > 0 && line[length - 1] == '\n') --length;
    use(std::string_view(line, static_cast<std::size_t>(length)));
  }
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const ChildStreams& streams,
                           const std::map<std::string, std::string>* environment) {
  std::vector<char*> arguments, variables;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::vector<std::string> texts;
  if (environment != nullptr)
    for (const auto& [name, value] : *environment) texts.push_back(name + "=" + value);
  for (std::string& text : texts) variables.push_back(text.data());
  variables.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::pair<int, int> given[]{
      {streams.input, STDIN_FILENO}, {streams.output, STDOUT_FILENO}, {streams.errors, STDERR_FILENO}};
  for (const auto& [from, to] : given)
    if (from >= 0) posix_spawn_file_actions_adddup2(&actions, from, to);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t no_signals;
  sigemptyset(&no_signals);
  posix_spawnattr_setsigmask(&attributes, &no_signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int failed = posix_spawnp(&id_, arguments[0], &actions, &attributes, arguments.data(),
                                  environment != nullptr ? variables.data() : environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    id_ = 0;
    throw io_error("start", command[0], failed);
  }
}

ChildProcess::~ChildProcess() {
  if (id_ == 0) return;
  kill(id_, SIGTERM);
  (void)wait();
}

bool ChildProcess::reap(int options) {
  if (id_ == 0) return true;
  int status = 0;
  rusage use{};
  pid_t ended = 0;
  while ((ended = wait4(id_, &status, options, &use)) < 0 && errno == EINTR) continue;
  if (ended == 0) return false;
  id_ = 0;
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  for (const timeval& time : {use.ru_utime, use.ru_stime})
    cpu_s_ += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  return true;
}

int ChildProcess::wait() {
  reap(0);
  return status_;
}

bool ChildProcess::has_ended() { return reap(WNOHANG); }

ChildResult run_child(const std::vector<std::string>& command, const std::function<void(std::string_view)>& line) {
  const File errors = opened(std::tmpfile(), command[0]);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw io_error("start", command[0], errno);
  const File output = opened(fdopen(ends[0], "r"), command[0]);
  File input = opened(fdopen(ends[1], "w"), command[0]);
  const File nothing = opened(std::fopen("/dev/null", "re"), command[0]);
  ChildProcess process(command, {fileno(nothing.get()), ends[1], fileno(errors.get())});
  input.reset();
  for_each_line(output.get(), line);
  ChildResult result;
  result.status = process.wait();
  std::rewind(errors.get());
  for_each_line(errors.get(), [&](std::string_view text) {
    if (text.find_first_not_of(" \t") != std::string_view::npos) result.last_error = text;
  });
  return result;
}

}  // namespace unstarve
