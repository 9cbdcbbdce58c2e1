#include "unstarve/core/arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "unstarve/core/error.h"

namespace unstarve {

Charge::Charge(Charge&& other) noexcept
    : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Charge& Charge::operator=(Charge&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Charge::~Charge() {
  if (budget_ != nullptr) budget_->release(bytes_);
}

Charge ByteBudget::charge(std::size_t bytes, std::string_view who) {
  std::size_t used = used_.load(std::memory_order_relaxed);
  do {
    const std::size_t left = limit_ - used;
    if (bytes > left) {
      throw Error(ErrorKind::kMemory, fmt::format("memory budget: {} asks for {} bytes, {} of {} bytes are left", who,
                                                  bytes, left, limit_));
    }
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  std::size_t peak = peak_.load(std::memory_order_relaxed);
  while (peak < used + bytes && !peak_.compare_exchange_weak(peak, used + bytes, std::memory_order_relaxed)) {
  }
  return {*this, bytes};
}

Arena::Arena(ByteBudget& budget, std::string who, std::size_t block_bytes)
    : budget_(budget), who_(std::move(who)), block_bytes_(block_bytes) {}

std::uint8_t* Arena::allocate(std::size_t bytes, std::size_t alignment) {
  if (!std::has_single_bit(alignment) || alignment > 64) {
    throw Error(ErrorKind::kArgument,
                fmt::format("arena of {}: alignment {}, expected a power of two up to 64", who_, alignment));
  }
  for (; block_ < blocks_.size(); ++block_, offset_ = 0) {
    const std::size_t start = (offset_ + alignment - 1) & ~(alignment - 1);
    if (start <= blocks_[block_].bytes && bytes <= blocks_[block_].bytes - start) {
      offset_ = start + bytes;
      used_ += bytes;
      return blocks_[block_].memory.data() + start;
    }
  }
  // Blocks are whole cache lines, so that the budget sees what is really taken.
  const std::size_t wanted = std::max({bytes, block_bytes_, std::size_t{64}});
  const std::size_t size = wanted > SIZE_MAX - 63 ? wanted : (wanted + 63) / 64 * 64;
  Charge charge = budget_.charge(size, who_);
  blocks_.push_back({std::move(charge), AlignedBytes(size), size});
  reserved_ += size;
  offset_ = bytes;
  used_ += bytes;
  return blocks_.back().memory.data();
}

void Arena::reset() noexcept {
  block_ = 0;
  offset_ = 0;
  used_ = 0;
}

}  // namespace unstarve
