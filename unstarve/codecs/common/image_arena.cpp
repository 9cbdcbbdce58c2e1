#include "unstarve/codecs/common/image_arena.h"

#include <algorithm>
#include <cstdint>
#include <new>

namespace unstarve {
namespace {

constexpr std::size_t kAlign = 64;
// Enough for a 4:2:0 JPEG about 500 pixels wide; smaller first blocks would only be replaced later.
constexpr std::size_t kFirstBlock = 128 * 1024;
constexpr std::size_t kHeader = kAlign;
// Far above the requirement of an image within kMaxPixels (2 GB of coefficients): larger requests come from damaged
// files.
constexpr std::size_t kMostBytes = std::size_t{1} << 36;

}  // namespace

void* ImageArena::allocate(std::size_t bytes) noexcept {
  if (bytes > kMostBytes) return nullptr;
  const std::size_t needed = (bytes + kAlign - 1) / kAlign * kAlign + kAlign;
  if (last_ == nullptr || last_->bytes - used_ < needed) {
    // Growing by half of the capacity keeps the number of blocks per image logarithmic.
    if (add_block(std::max({needed + kHeader, kFirstBlock, capacity_ / 2})) == nullptr) return nullptr;
  }
  void* result = reinterpret_cast<std::uint8_t*>(last_) + used_;
  used_ += needed;
  return result;
}

void ImageArena::reset() noexcept {
  if (last_ != nullptr && last_->previous != nullptr) {
    const std::size_t total = capacity_;
    release();
    add_block(total);  // if this fails, the next allocate() tries a smaller block
  }
  used_ = kHeader;
}

void ImageArena::release() noexcept {
  while (last_ != nullptr) {
    Block* previous = last_->previous;
    ::operator delete (last_, std::align_val_t{kAlign});
    last_ = previous;
  }
  used_ = 0;
  capacity_ = 0;
}

ImageArena::Block* ImageArena::add_block(std::size_t bytes) noexcept {
  void* memory = ::operator new (bytes, std::align_val_t{kAlign}, std::nothrow);
  if (memory == nullptr) return nullptr;
  last_ = new (memory) Block{last_, bytes};
  used_ = kHeader;
  capacity_ += bytes;
  return last_;
}

}  // namespace unstarve
