#include "unstarve/core/machine/thread_time.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <thread>

namespace unstarve {

std::int64_t thread_cpu_ns() {
  timespec time{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return 0;
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

namespace {

std::int64_t counted_sleeps() {
  rusage usage{};
  return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

bool sleeps_are_counted() {
  const std::int64_t before = counted_sleeps();
  std::this_thread::sleep_for(std::chrono::microseconds(10));
  return counted_sleeps() > before;
}

}  // namespace

std::optional<std::int64_t> thread_sleeps() {
  static const bool counted = sleeps_are_counted();
  if (!counted) return {};
  return counted_sleeps();
}

// "cpu_ns delay_ns timeslices" (Documentation/scheduler/sched-stats.rst of Linux).
RunDelay::RunDelay() : file_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) { last_ns_ = total_ns(); }

std::int64_t RunDelay::total_ns() const {
  std::array<char, 128> text{};
  const ssize_t length = !file_.valid() ? -1 : ::pread(file_.get(), text.data(), text.size(), 0);
  if (length <= 0) return 0;
  const char* const end = text.data() + length;
  std::int64_t cpu = 0, delay = 0;
  const auto first = std::from_chars(text.data(), end, cpu);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return 0;
  return std::from_chars(first.ptr + 1, end, delay).ec == std::errc() ? delay : 0;
}

std::int64_t RunDelay::take_ns() {
  const std::int64_t now = total_ns();
  const std::int64_t since = now - last_ns_;
  last_ns_ = now;
  return since > 0 ? since : 0;
}

}  // namespace unstarve
