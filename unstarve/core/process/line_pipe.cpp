#include "unstarve/core/process/line_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

// Holds SIGPIPE back in this thread, so that a write to a pipe without a reader is an error and does not end the
// process: programs that use this library may not ignore the signal.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    pending_before_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;
  ~WithoutPipeSignal() {
    const timespec now{};
    if (!pending_before_) (void)sigtimedwait(&pipe_, nullptr, &now);  // the one that the write has caused, if any
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{}, before_{};
  bool pending_before_ = false;
};

}  // namespace

Pipe::Pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw io_error("create", "pipe", errno);
  reading = FileDescriptor(ends[0]);
  writing = FileDescriptor(ends[1]);
}

LinePipe::LinePipe(FileDescriptor in, FileDescriptor out) {
  in_.reset(::fdopen(in.get(), "r"));
  if (!in_) throw io_error("open", "pipe", errno);
  (void)in.release();
  out_.reset(::fdopen(out.get(), "w"));
  if (!out_) throw io_error("open", "pipe", errno);
  (void)out.release();
}

bool LinePipe::read(std::string& line) {
  line.clear();
  for (int c = std::getc(in_.get()); c != EOF; c = std::getc(in_.get())) {
    if (c == '\n') return true;
    line += static_cast<char>(c);
  }
  return false;
}

bool LinePipe::write(const std::string& line) {
  const WithoutPipeSignal without_signal;
  return std::fwrite(line.data(), 1, line.size(), out_.get()) == line.size() && std::fputc('\n', out_.get()) != EOF &&
         std::fflush(out_.get()) == 0;
}

}  // namespace unstarve
