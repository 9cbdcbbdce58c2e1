#pragma once
// A memory limit that several users share, first come, first served.
//
// Threads: any number. Failure: none; take() returns false. Cost: one atomic exchange.

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
  // Takes all of `bytes` and returns true, or takes nothing and returns false.
  [[nodiscard]] bool take(std::uint64_t bytes) {
    std::uint64_t left = left_.load(std::memory_order_relaxed);
    while (left >= bytes)
      if (left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed)) return true;
    return false;
  }
  // Precondition: take() has returned true for these bytes.
  void give_back(std::uint64_t bytes) { left_.fetch_add(bytes, std::memory_order_relaxed); }

 private:
  const std::uint64_t size_;
  std::atomic<std::uint64_t> left_;
};

}  // namespace unstarve
