#include "unstarve/storage/cache/record_arena.h"

#include <algorithm>
#include <new>

namespace unstarve {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{4} << 20;
// Each at most this fraction of the budget, which others may share.
constexpr std::uint64_t kChunkPart = 16;

}  // namespace

std::uint8_t* RecordArena::allocate(std::size_t bytes) {
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  std::lock_guard lock(mutex_);
  if (bytes > left_) {
    const std::uint64_t preferred = std::min<std::uint64_t>(kChunkBytes, room_->size() / kChunkPart);
    const std::size_t chunk = std::max<std::size_t>(bytes, std::min(room_->left(), preferred));
    if (!room_->take(chunk)) {
      // Records have similar sizes: if one does not fit, few others would. Other users may return memory to the
      // budget.
      if (chunks_bytes_ + bytes > room_->size()) full_.store(true, std::memory_order_relaxed);
      return nullptr;
    }
    try {
      chunks_.emplace_back(chunk);
    } catch (const std::bad_alloc&) {
      room_->give_back(chunk);
      full_.store(true, std::memory_order_relaxed);
      return nullptr;
    }
    chunks_bytes_ += chunk;
    next_ = chunks_.back().data();
    left_ = chunk;
  }
  std::uint8_t* const memory = next_;
  next_ += bytes;
  left_ -= bytes;
  bytes_ += bytes;
  ++records_;
  return memory;
}

RecordArena::Counts RecordArena::counts() const {
  std::lock_guard lock(mutex_);
  return {records_, bytes_, room_->size()};
}

}  // namespace unstarve
