#pragma once
// Time as a parameter: everything that waits or measures takes a Clock, so that tests decide what time it is.
// wall_clock_ns() is for what is compared with the time stamps of files.
//
// Threads: every Clock here may be used by any number of threads at once.

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace unstarve {

class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic nanoseconds since an arbitrary origin.
  [[nodiscard]] virtual std::int64_t now_ns() const = 0;
  // Returns at `deadline_ns` or later, at once when it has passed.
  virtual void sleep_until(std::int64_t deadline_ns) = 0;
};

// std::chrono::steady_clock. sleep_until sleeps; it may oversleep by some 60 us (see EmulatedAccelerator for the
// remedy).
class SteadyClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const override;
  void sleep_until(std::int64_t deadline_ns) override;
};

// The process's SteadyClock; lives as long as the program.
[[nodiscard]] Clock& steady_clock();

// Now, in nanoseconds since 1970, by the clock that file systems take their times from; it may be set back.
[[nodiscard]] std::int64_t wall_clock_ns() noexcept;

// Stands still until advance() is called; sleepers wake when their deadline is reached.
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
