#pragma once
// Bytes that workers borrow one after the other, for images larger than their share of a memory limit.
//
// Threads: any.

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace unstarve {

class MemoryPool {
 public:
  explicit MemoryPool(std::uint64_t bytes) : size_(bytes), free_(bytes) {}

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t borrowed() const;
  // Waits until `bytes` are free. Precondition: bytes <= size(); the caller has borrowed nothing.
  void borrow(std::uint64_t bytes);
  void give_back(std::uint64_t bytes);

 private:
  const std::uint64_t size_;
  mutable std::mutex mutex_;
  std::condition_variable returned_;
  std::uint64_t free_;
};

}  // namespace unstarve
