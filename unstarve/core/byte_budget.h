#pragma once
// Bytes that several users of memory share: whoever comes first takes of what is left, and may give it back.
//
// Threads: any number. Failure: none; take() says no. Cost: one atomic exchange.

#include <atomic>
#include <cstdint>

namespace unstarve {

class ByteBudget {
 public:
  explicit ByteBudget(std::uint64_t bytes) : size_(bytes), left_(bytes) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t left() const { return left_.load(std::memory_order_relaxed); }
  // Takes so many, all or none; whether it did.
  [[nodiscard]] bool take(std::uint64_t bytes) {
    std::uint64_t left = left_.load(std::memory_order_relaxed);
    while (left >= bytes)
      if (left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed)) return true;
    return false;
  }
  // Precondition: they were taken.
  void give_back(std::uint64_t bytes) { left_.fetch_add(bytes, std::memory_order_relaxed); }

 private:
  const std::uint64_t size_;
  std::atomic<std::uint64_t> left_;
};

}  // namespace unstarve
