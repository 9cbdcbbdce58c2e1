#include "stop_on_signal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace unstarve::cli {
namespace {

std::atomic<int> event{-1};  // the handler writes, the thread reads
std::atomic<int> signal_received{0};
std::atomic<std::int64_t> received_ns{0};

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

void wake() {
  const std::uint64_t one = 1;
  (void)!::write(event.load(), &one, sizeof one);
}

extern "C" void request_stop(int signal) {
  const int error = errno;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  received_ns.store(now_ns());
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

double StopOnSignal::seconds_since() const noexcept {
  return received() != 0 ? 1e-9 * static_cast<double>(now_ns() - received_ns.load()) : 0;
}

}  // namespace unstarve::cli
