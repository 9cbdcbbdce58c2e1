#pragma once
// Measures the peak host memory of an operation by the resident size of the process, which the kernel tracks.
//
//   MemoryProbe probe;          // returns freed heap to the system, resets the kernel's high-water mark
//   Rig rig(...); rig.run(...);
//   probe.peak_growth_bytes();  // peak growth since construction
//
// Threads: one probe per process at a time: the high-water mark belongs to the process.
// Failure: never throws. If /proc/self/clear_refs is not writable (some containers), the peak is that of the whole
//          process lifetime and exact() is false.

#include <cstddef>

namespace unstarve {

class MemoryProbe {
 public:
  MemoryProbe();
  [[nodiscard]] std::size_t before_bytes() const { return before_; }  // resident, at construction
  [[nodiscard]] std::size_t peak_growth_bytes() const;
  [[nodiscard]] bool exact() const { return exact_; }

 private:
  std::size_t before_ = 0;
  bool exact_ = false;
};

}  // namespace unstarve
