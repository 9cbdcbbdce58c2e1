#pragma once
// Lets the tensors of a training step on the CPU reuse the memory of earlier ones.
//
// libtorch's allocator of host memory returns large blocks to the system when a tensor is released, and the system
// clears every page of the next block. That takes several times as long as a pass over the tensor.
//
// Memory:  blocks in use and blocks that are kept for reuse are together at most 1.25 times the most that was in use at
//          a time. Without that quarter, blocks that are not in use at that time would be returned in every step.
//          Blocks below kLeastBytes are not kept.
// Threads: any. Only threads in a Scope take memory here; any thread may release it.
// Failure: without memory, as libtorch's allocator.

#include <cstddef>

namespace unstarve {

// Keeps memory as long as one of these exists; the last one returns it to the system.
class StepMemory {
 public:
  static constexpr std::size_t kLeastBytes = std::size_t{1} << 20;
  // Bytes in use and kept bytes, if `most_used` bytes were in use at a time.
  static constexpr std::size_t most_held(std::size_t most_used) { return most_used + most_used / 4; }

  // The first one ever replaces libtorch's allocator, for good.
  StepMemory();
  ~StepMemory();
  StepMemory(const StepMemory&) = delete;
  StepMemory& operator=(const StepMemory&) = delete;

  // Tensors that this thread creates during its lifetime reuse memory.
  class Scope {
   public:
    Scope();
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    bool outer_;
  };

  struct Bytes {
    std::size_t used = 0;
    std::size_t kept = 0;
    std::size_t most_used = 0;
  };
  [[nodiscard]] static Bytes bytes();
};

}  // namespace unstarve
