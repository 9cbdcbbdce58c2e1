#pragma once
// The memory of cached records: large chunks of a budget, so that the allocator has few large blocks.
//
// Ownership: owns the memory, which is freed with the arena; shares the budget, to which nothing is returned.
// Threads:   any number. Failure: none; allocate() returns null. Cost: a lock per record.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "unstarve/core/memory/aligned.h"
#include "unstarve/storage/cache/byte_budget.h"

namespace unstarve {

class RecordArena {
 public:
  // Of all allocations.
  static constexpr std::size_t kAlignment = alignof(std::max_align_t);

  explicit RecordArena(std::shared_ptr<ByteBudget> room) : room_(std::move(room)) {}

  // Memory for one record. Null if the budget or the memory is exhausted.
  [[nodiscard]] std::uint8_t* allocate(std::size_t bytes);
  // No further record has room: allocate() is not worth a call.
  [[nodiscard]] bool full() const { return full_.load(std::memory_order_relaxed); }

  struct Counts {
    std::uint64_t records = 0, bytes = 0;
    std::uint64_t limit = 0;  // bytes of the budget
  };
  [[nodiscard]] Counts counts() const;

 private:
  const std::shared_ptr<ByteBudget> room_;
  std::atomic<bool> full_{false};
  mutable std::mutex mutex_;  // guards the following
  std::vector<AlignedBytes> chunks_;
  std::uint8_t* next_ = nullptr;
  std::size_t left_ = 0;
  std::uint64_t chunks_bytes_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t records_ = 0;
};

}  // namespace unstarve
