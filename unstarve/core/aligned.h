#pragma once
// A block of bytes aligned to 64 (a cache line, an AVX-512 register) that only ever grows.
//
// Ownership: owns its memory; movable, not copyable. Failure: throws std::bad_alloc.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace unstarve {

class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::size_t bytes) { reserve_discard(bytes); }

  // Makes room for `bytes`; when it has to grow, the contents are lost (it grows by at least half, to settle soon).
  void reserve_discard(std::size_t bytes) {
    if (bytes <= capacity_) return;
    const std::size_t grown = capacity_ + capacity_ / 2;
    capacity_ = ((bytes > grown ? bytes : grown) + 63) / 64 * 64;
    memory_.reset();
    memory_.reset(static_cast<std::uint8_t*>(::operator new (capacity_, std::align_val_t{64})));
  }

  [[nodiscard]] std::uint8_t* data() { return memory_.get(); }
  [[nodiscard]] const std::uint8_t* data() const { return memory_.get(); }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

 private:
  struct Free {
    void operator()(std::uint8_t* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::size_t capacity_ = 0;
  std::unique_ptr<std::uint8_t, Free> memory_;
};

}  // namespace unstarve
