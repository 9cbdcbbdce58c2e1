#pragma once
// Memory whose end lies at a page that must not be touched: who reads or writes behind it ends the program there. For
// tests and fuzz programs of what AddressSanitizer does not see, such as instructions written by hand.
//
// Ownership: GuardedBytes owns its pages. Threads: plain memory. Failure: std::bad_alloc.
// Cost:      two calls of the system and a page at least, each.

#include <cstddef>
#include <cstdint>
#include <span>

namespace unstarve {

// `bytes` zeros right before such a page; so they are aligned as `bytes` is.
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
