#include "unstarve/core/clock.h"

#include <chrono>
#include <ctime>
#include <thread>

namespace unstarve {

std::int64_t SteadyClock::now_ns() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void SteadyClock::sleep_until(std::int64_t deadline_ns) {
  std::this_thread::sleep_until(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns)));
}

Clock& steady_clock() {
  static SteadyClock clock;
  return clock;
}

std::int64_t ManualClock::now_ns() const {
  std::lock_guard lock(mutex_);
  return now_ns_;
}

void ManualClock::sleep_until(std::int64_t deadline_ns) {
  std::unique_lock lock(mutex_);
  advanced_.wait(lock, [&] { return now_ns_ >= deadline_ns; });
}

void ManualClock::advance(std::int64_t by_ns) {
  {
    std::lock_guard lock(mutex_);
    now_ns_ += by_ns;
  }
  advanced_.notify_all();
}

std::int64_t wall_clock_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace unstarve
