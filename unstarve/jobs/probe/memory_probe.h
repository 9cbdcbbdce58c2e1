#pragma once
// How much memory something takes at its peak: on the host by the process's resident size, which the kernel tracks.
//
//   MemoryProbe probe;          // returns freed heap to the system, resets the kernel's high-water mark
//   Rig rig(...); rig.run(...);
//   probe.peak_growth_bytes();  // what that took at its peak, above what was resident before
//
// Threads: one probe at a time in a process, since the mark is the process's. Failure: never throws; where
// /proc/self/clear_refs cannot be written (some containers), the mark is that of the whole process so far, and
// exact() is false.

#include <cstddef>

namespace unstarve {

class MemoryProbe {
 public:
  MemoryProbe();
  [[nodiscard]] std::size_t peak_growth_bytes() const;
  [[nodiscard]] bool exact() const { return exact_; }

 private:
  std::size_t before_ = 0;
  bool exact_ = false;
};

}  // namespace unstarve
