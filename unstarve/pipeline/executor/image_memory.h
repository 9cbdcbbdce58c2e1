#pragma once
// The part of a memory limit for images that exceed their worker's share. Workers borrow from it one after the other.
//
// Threads: any.

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "unstarve/pipeline/plan/memory_plan.h"

namespace unstarve {

class ImageMemory {
 public:
  // Precondition: plan.limit > 0.
  explicit ImageMemory(const MemoryPlan& plan) : plan_(plan), free_(plan.larger_images) {}

  [[nodiscard]] std::uint64_t borrowed() const;
  // Borrows what a worker that needs `bytes` for an image lacks, waits until it is free, and returns it; 0 if the
  // worker's share is enough. Throws Error(kMemory) with the required limit if there is never as much.
  // Precondition: the caller has borrowed nothing.
  [[nodiscard]] std::uint64_t borrow(std::uint64_t bytes, Size image);
  void give_back(std::uint64_t bytes);

 private:
  const MemoryPlan plan_;
  mutable std::mutex mutex_;
  std::condition_variable returned_;
  std::uint64_t free_;
};

}  // namespace unstarve
