#pragma once
// What the kernel says of the calling thread: its time on a processor, and its time ready for one without getting it.
// What is left of a thread's wall time it slept: for a disk, a server, a lock. Or it was kept from running in a way
// that the kernel does not count (a hypervisor's other guests, a stopped process): how often it slept tells the two
// apart.
//
// Failure: never throws; a kernel without run delays (no CONFIG_SCHED_INFO, no /proc) gives 0, and what was delay
// counts as sleep. Cost: a system call each, some 0.3 and 1 us.

#include <cstdint>
#include <optional>

namespace unstarve {

[[nodiscard]] std::int64_t thread_cpu_ns();

// How often it gave its processor up by itself (getrusage(2), ru_nvcsw); a stopped process counts as once. Nothing
// where the kernel does not count it, as found out by a sleep of some microseconds at the first call.
[[nodiscard]] std::optional<std::int64_t> thread_sleeps();

// Threads: made and asked by the one thread that it tells of.
class RunDelay {
 public:
  RunDelay();
  ~RunDelay();
  RunDelay(const RunDelay&) = delete;
  RunDelay& operator=(const RunDelay&) = delete;

  // Nanoseconds since the last call or the construction.
  [[nodiscard]] std::int64_t take_ns();

 private:
  [[nodiscard]] std::int64_t total_ns() const;
  int file_;
  std::int64_t last_ns_ = 0;
};

}  // namespace unstarve
