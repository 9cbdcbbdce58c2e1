#include "unstarve/codecs/common/image_arena.h"

#include <algorithm>
#include <cstdint>
#include <new>

namespace unstarve {
namespace {

constexpr std::size_t kAlign = 64;
// Holds all of a 4:2:0 JPEG of about 500 pixels' width; smaller first blocks would only be joined later.
constexpr std::size_t kFirstBlock = 128 * 1024;
constexpr std::size_t kHeader = kAlign;
// Far above what an image within kMaxPixels needs (2 GB of coefficients); a larger request comes from a damaged file.
constexpr std::size_t kMostBytes = std::size_t{1} << 36;

}  // namespace

void* ImageArena::allocate(std::size_t bytes) noexcept {
  if (bytes > kMostBytes) return nullptr;
  const std::size_t wanted = (bytes + kAlign - 1) / kAlign * kAlign + kAlign;
  if (last_ == nullptr || last_->bytes - used_ < wanted) {
    // Growing by half of what there is keeps the number of blocks of one image logarithmic.
    if (add_block(std::max({wanted + kHeader, kFirstBlock, capacity_ / 2})) == nullptr) return nullptr;
  }
  void* result = reinterpret_cast<std::uint8_t*>(last_) + used_;
  used_ += wanted;
  return result;
}

void ImageArena::reset() noexcept {
  if (last_ != nullptr && last_->previous != nullptr) {
    const std::size_t together = capacity_;
    release();
    add_block(together);  // when refused, the next allocate() tries again with less
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
