#pragma once
// A block of bytes, aligned to 64 (a cache line, an AVX-512 register), that grows and never shrinks.
//
// Each large block is a separate mmap(), so that freeing it from any thread returns the memory to the system
// immediately. The heap would retain freed memory per arena, and resident memory would stay far above the memory in
// use.
// Large blocks request huge pages: one page fault per 2 MiB instead of 512.
//
// Ownership: owns its memory; movable, not copyable. Failure: throws std::bad_alloc.

#include <cstddef>
#include <cstdint>
#include <memory>

namespace unstarve {

class AlignedBytes {
 public:
  // Blocks of at least this size are mapped. Buffers this large are too expensive to allocate per sample.
  static constexpr std::size_t kMapped = std::size_t{128} << 10;

  AlignedBytes() = default;
  explicit AlignedBytes(std::size_t bytes) { reserve_discard(bytes); }

  // Ensures a capacity of `bytes`. Growing discards the contents; the capacity grows by at least half.
  void reserve_discard(std::size_t bytes) {
    if (bytes > capacity()) grow(bytes);
  }

  [[nodiscard]] std::uint8_t* data() { return memory_.get(); }
  [[nodiscard]] const std::uint8_t* data() const { return memory_.get(); }
  // Capacity after the first reserve_discard(bytes): large blocks are whole pages.
  [[nodiscard]] static std::size_t capacity_for(std::size_t bytes);
  [[nodiscard]] std::size_t capacity() const { return memory_ ? memory_.get_deleter().bytes : 0; }

 private:
  struct Free {
    Free() : bytes(0) {}
    explicit Free(std::size_t of) : bytes(of) {}
    void operator()(std::uint8_t* memory) const;
    std::size_t bytes;
  };

  void grow(std::size_t bytes);

  std::unique_ptr<std::uint8_t, Free> memory_;
};

}  // namespace unstarve
