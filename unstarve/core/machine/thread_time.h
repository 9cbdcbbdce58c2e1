#pragma once
// The calling thread's CPU time and run delay (time ready to run, but without a CPU), as counted by the kernel.
//
// In the rest of its wall time the thread slept (disk, server, lock), or was stopped in a way that the kernel does not
// count (other guests of a hypervisor, a stopped process). The number of sleeps distinguishes the two.
//
// Failure: never throws. A kernel without run delays (no CONFIG_SCHED_INFO, no /proc) reports 0, so that delay counts
//          as sleep. Cost: a system call each, about 0.3 and 1 us.

#include <cstdint>
#include <optional>

#include "unstarve/core/file_descriptor.h"

namespace unstarve {

[[nodiscard]] std::int64_t thread_cpu_ns();

// Voluntary context switches (getrusage(2), ru_nvcsw); stopping the process counts once. Empty if the kernel does not
// count them; the first call checks this with a sleep of a few microseconds.
[[nodiscard]] std::optional<std::int64_t> thread_sleeps();

// Threads: constructed and read by the thread that it measures.
class RunDelay {
 public:
  RunDelay();

  // Run delay in nanoseconds since the last call or the construction.
  [[nodiscard]] std::int64_t take_ns();

 private:
  [[nodiscard]] std::int64_t total_ns() const;
  FileDescriptor file_;
  std::int64_t last_ns_ = 0;
};

}  // namespace unstarve
