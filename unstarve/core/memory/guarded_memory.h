#pragma once
// Memory that ends at an inaccessible page, so that an access past the end crashes. For tests and fuzzers of code that
// AddressSanitizer does not instrument, such as hand-written assembly.
//
// Ownership: GuardedBytes owns its pages. Threads: plain memory. Failure: std::bad_alloc.
// Cost:      two system calls and at least one page per block.

#include <cstddef>
#include <cstdint>
#include <span>

namespace unstarve {

// `bytes` zeros directly before an inaccessible page; aligned to the largest power of two that divides `bytes`.
[[nodiscard]] std::uint8_t* map_guarded(std::size_t bytes);
void unmap_guarded(std::uint8_t* memory, std::size_t bytes) noexcept;

class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t bytes) : bytes_(map_guarded(bytes), bytes) {}
  ~GuardedBytes() { unmap_guarded(bytes_.data(), bytes_.size()); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  [[nodiscard]] std::span<std::uint8_t> bytes() const noexcept { return bytes_; }

 private:
  std::span<std::uint8_t> bytes_;
};

}  // namespace unstarve
