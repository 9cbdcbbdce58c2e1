#include "unstarve/pipeline/executor/memory_pool.h"

namespace unstarve {

std::uint64_t MemoryPool::borrowed() const {
  std::lock_guard lock(mutex_);
  return size_ - free_;
}

void MemoryPool::borrow(std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return free_ >= bytes; });
  free_ -= bytes;
}

void MemoryPool::give_back(std::uint64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    free_ += bytes;
  }
  returned_.notify_all();
}

}  // namespace unstarve
