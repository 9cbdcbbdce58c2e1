#pragma once
// A bump allocator for the memory of one image's decoding, reused for the next image.
//
// libjpeg and libpng allocate tens of blocks per image and free all of them at its end. malloc() would map the larger
// ones, so each image would pay page faults for the same few hundred kilobytes. The arena uses one block for all of
// them, which the next image reuses. An image that needs more gets further blocks; reset() replaces them by one block,
// so that a second image of that size allocates nothing.
//
// Ownership: owns all memory that it returns; reset() and release() invalidate every pointer.
// Threads:   one at a time.
// Failure:   allocate() returns nullptr. Nothing throws, because C code calls it.

#include <cstddef>

namespace unstarve {

class ImageArena {
 public:
  ImageArena() = default;
  ~ImageArena() { release(); }
  ImageArena(const ImageArena&) = delete;
  ImageArena& operator=(const ImageArena&) = delete;

  // `bytes` bytes aligned to 64, followed by at least 64 more that SIMD code may read and overwrite.
  [[nodiscard]] void* allocate(std::size_t bytes) noexcept;
  // Ends all allocations but retains the memory for new ones.
  void reset() noexcept;
  // Returns the memory to the system.
  void release() noexcept;

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  struct Block {
    Block* previous;
    std::size_t bytes;
  };
  Block* add_block(std::size_t bytes) noexcept;

  Block* last_ = nullptr;
  std::size_t used_ = 0;      // of the last block, including its header
  std::size_t capacity_ = 0;  // of all blocks
};

}  // namespace unstarve
