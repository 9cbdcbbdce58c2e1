#include "unstarve/diagnose/cupti/buffer_pool.h"

#include <cstdlib>

namespace unstarve {

BufferPool::~BufferPool() {
  for (std::uint8_t* const buffer : free_) std::free(buffer);
}

std::uint8_t* BufferPool::give() {
  if (!free_.empty()) {
    std::uint8_t* const buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  if (count_ == kMostBuffers) return nullptr;
  auto* const buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, kBufferBytes));
  count_ += buffer != nullptr ? 1 : 0;
  return buffer;
}

void BufferPool::take_back(std::uint8_t* buffer) {
  if (free_.size() < kKeptBuffers) {
    free_.push_back(buffer);
  } else {
    std::free(buffer);
    --count_;
  }
}

}  // namespace unstarve
