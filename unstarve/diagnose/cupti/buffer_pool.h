#pragma once
// The memory that CUPTI fills with records: at most kMostBuffers of kBufferBytes each, of which kKeptBuffers are kept
// for the next window.
//
// Ownership: frees the buffers that it has; CUPTI has the others. Threads: one at a time. Failure: give() returns null.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace unstarve {

class BufferPool {
 public:
  static constexpr std::size_t kBufferBytes = 1 << 20, kKeptBuffers = 8, kMostBuffers = 64;

  BufferPool() = default;
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // Null: CUPTI has kMostBuffers, or there is no memory.
  [[nodiscard]] std::uint8_t* give();
  // `buffer`: one of give().
  void take_back(std::uint8_t* buffer);
  // Buffers that CUPTI has.
  [[nodiscard]] std::size_t given() const { return count_ - free_.size(); }

 private:
  std::vector<std::uint8_t*> free_;
  std::size_t count_ = 0;  // with those that CUPTI has
};

}  // namespace unstarve
