#pragma once
// Memory under a limit: a ByteBudget that every large allocation is charged to, and a bump Arena charged to it.
//
// Ownership: a Charge gives its bytes back when it is destroyed; an Arena owns its blocks. Both hold a reference to
//            their budget, which must outlive them.
// Threads:   a ByteBudget may be charged from any thread; a Charge and an Arena belong to one thread at a time.
// Failure:   Error(kMemory) says who asked, for how much, and what is left; nothing is charged then.
// Cost:      Arena::allocate() is an addition; after the first rounds between resets it never calls the allocator.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/aligned.h"

namespace unstarve {

class ByteBudget;

// Bytes held of a budget. Move-only.
class Charge {
 public:
  Charge() = default;
  Charge(Charge&& other) noexcept;
  Charge& operator=(Charge&& other) noexcept;
  ~Charge();
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  friend class ByteBudget;
  Charge(ByteBudget& budget, std::size_t bytes) : budget_(&budget), bytes_(bytes) {}
  ByteBudget* budget_ = nullptr;
  std::size_t bytes_ = 0;
};

class ByteBudget {
 public:
  explicit ByteBudget(std::size_t limit_bytes) : limit_(limit_bytes) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  // `who` is named in the error: "decode scratch of worker 3".
  [[nodiscard]] Charge charge(std::size_t bytes, std::string_view who);

  [[nodiscard]] std::size_t limit() const { return limit_; }
  [[nodiscard]] std::size_t used() const { return used_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  friend class Charge;
  void release(std::size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  const std::size_t limit_;
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> peak_{0};
};

class Arena {
 public:
  // Takes memory in blocks of `block_bytes` (larger where one request needs it).
  Arena(ByteBudget& budget, std::string who, std::size_t block_bytes = 1 << 16);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Uninitialised; valid until reset(). `alignment` is a power of two up to 64, else Error(kArgument).
  [[nodiscard]] std::uint8_t* allocate(std::size_t bytes, std::size_t alignment = 64);

  // Forgets all that was allocated and keeps the memory for the next round.
  void reset() noexcept;

  [[nodiscard]] std::size_t used() const { return used_; }          // handed out since reset(), without gaps
  [[nodiscard]] std::size_t reserved() const { return reserved_; }  // held of the budget

 private:
  struct Block {
    Charge charge;
    AlignedBytes memory;
    std::size_t bytes;
  };
  ByteBudget& budget_;
  const std::string who_;
  const std::size_t block_bytes_;
  std::vector<Block> blocks_;
  std::size_t block_ = 0;   // the one being filled
  std::size_t offset_ = 0;  // in it
  std::size_t used_ = 0;
  std::size_t reserved_ = 0;
};

}  // namespace unstarve
