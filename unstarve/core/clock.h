#pragma once
// Time as a parameter: code that waits or measures takes a Clock, so that tests control the time.
// wall_clock_ns() is for comparison with the time stamps of files.
//
// Threads: every Clock here may be used by several threads concurrently.

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace unstarve {

class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic nanoseconds since an arbitrary origin.
  [[nodiscard]] virtual std::int64_t now_ns() const = 0;
  // Returns at `deadline_ns` or later; immediately if the deadline has passed.
  virtual void sleep_until(std::int64_t deadline_ns) = 0;
};

// std::chrono::steady_clock. sleep_until() may return about 60 us late (EmulatedAccelerator corrects for this).
class SteadyClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const override;
  void sleep_until(std::int64_t deadline_ns) override;
};

// The process's SteadyClock; never destroyed before the program ends.
[[nodiscard]] Clock& steady_clock();
// Seconds of steady_clock().
[[nodiscard]] inline double seconds_now() { return static_cast<double>(steady_clock().now_ns()) * 1e-9; }

// Nanoseconds since 1970 from the clock that file systems use for time stamps. Not monotonic.
[[nodiscard]] std::int64_t wall_clock_ns() noexcept;

// For tests: time changes only by advance(), which wakes sleepers whose deadline is reached.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const override;
  void sleep_until(std::int64_t deadline_ns) override;
  void advance(std::int64_t by_ns);

 private:
  mutable std::mutex mutex_;
  std::condition_variable advanced_;
  std::int64_t now_ns_ = 0;
};

}  // namespace unstarve
