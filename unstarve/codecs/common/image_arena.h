#pragma once
// Memory that lives as long as one image's decoding: a bump allocator that keeps what it got.
//
// libjpeg and libpng allocate tens of blocks per image and free them all at its end; the larger ones go to mmap, so
// every image would pay page faults for the same few hundred kilobytes again. Here they lie one behind the other in one
// block that is reused for the next image. An image that needs more gets further blocks; reset() joins them into one,
// so that a second image of that size allocates nothing.
//
// Ownership: owns all it handed out; reset() and release() make every pointer invalid.
// Threads:   one at a time.
// Failure:   allocate() returns nullptr when the machine refuses. Nothing throws, because C code calls it, and no frame
//            that an error jumps over holds a C++ object.

#include <cstddef>

namespace unstarve {

class ImageArena {
 public:
  ImageArena() = default;
  ~ImageArena() { release(); }
  ImageArena(const ImageArena&) = delete;
  ImageArena& operator=(const ImageArena&) = delete;

  // `bytes` bytes aligned to 64, followed by at least 64 more that may be read and overwritten (SIMD code runs over).
  [[nodiscard]] void* allocate(std::size_t bytes) noexcept;
  // Forgets all allocations, keeps the memory.
  void reset() noexcept;
  // Gives the memory back.
  void release() noexcept;

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  struct Block {
    Block* previous;
    std::size_t bytes;
  };
  Block* add_block(std::size_t bytes) noexcept;

  Block* last_ = nullptr;
  std::size_t used_ = 0;      // of the last block, its header included
  std::size_t capacity_ = 0;  // of all blocks
};

}  // namespace unstarve
