#pragma once
// A block of bytes aligned to 64 (a cache line, an AVX-512 register) that only ever grows.
//
// Large blocks are mapped by themselves: freed, they are the system's again at once, whichever thread frees them. The
// heap keeps what is freed, an arena for every few threads, and resident memory would stay far above what is held.
// They ask for huge pages: one page fault for 2 MiB where there were 512.
//
// Ownership: owns its memory; movable, not copyable. Failure: throws std::bad_alloc.

#include <cstddef>
#include <cstdint>
#include <memory>

namespace unstarve {

class AlignedBytes {
 public:
  // From here on a block is mapped. Buffers of this size are dear enough that they are not made per sample.
  static constexpr std::size_t kMapped = std::size_t{128} << 10;

  AlignedBytes() = default;
  explicit AlignedBytes(std::size_t bytes) { reserve_discard(bytes); }

  // Makes room for `bytes`; when it has to grow, the contents are lost (it grows by at least half, to settle soon).
  void reserve_discard(std::size_t bytes) {
    if (bytes > capacity()) grow(bytes);
  }

  [[nodiscard]] std::uint8_t* data() { return memory_.get(); }
  [[nodiscard]] const std::uint8_t* data() const { return memory_.get(); }
  // What the first reserve_discard() of so many bytes takes: large blocks are whole pages.
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
