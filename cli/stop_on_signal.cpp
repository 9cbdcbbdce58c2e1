#include "stop_on_signal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

namespace unstarve::cli {
namespace {

std::atomic<int> event{-1};  // the handler writes, the thread reads
std::atomic<int> signal_received{0};

void wake() {
  const std::uint64_t one = 1;
  (void)!::write(event.load(), &one, sizeof one);
}

extern "C" void request_stop(int signal) {
  const int error = errno;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  signal_received.store(signal);
  wake();
  errno = error;
}

}  // namespace

StopOnSignal::StopOnSignal() {
  const int fd = ::eventfd(0, EFD_CLOEXEC);
  if (fd < 0) throw io_error("create", "eventfd", errno);
  signal_received.store(0);
  event.store(fd);
  before_int_ = std::signal(SIGINT, request_stop);
  before_term_ = std::signal(SIGTERM, request_stop);
  thread_ = std::thread([this, fd] {
    std::uint64_t count = 0;
    while (::read(fd, &count, sizeof count) < 0 && errno == EINTR) continue;
    if (signal_received.load() != 0) stop_.request_stop();
  });
}

StopOnSignal::~StopOnSignal() {
  std::signal(SIGINT, before_int_);
  std::signal(SIGTERM, before_term_);
  wake();
  thread_.join();
  ::close(event.exchange(-1));
}

int StopOnSignal::received() const noexcept { return signal_received.load(); }

}  // namespace unstarve::cli
