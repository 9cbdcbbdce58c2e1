#pragma once
// One row of blocks of quantised coefficients, in the order in which they are stored: what the forward transform writes
// and the entropy encoder reads. Beside each block, which of its coefficients are not zero, so that the encoder can go
// from one of those to the next.
//
// Blocks are made in groups of kGroupBlocks; there is room for whole groups.
// Threads: plain memory, one writer.

#include <cstddef>
#include <cstdint>

#include "unstarve/core/aligned.h"

namespace unstarve {

class ZigzagRow {
 public:
  static constexpr std::size_t kGroupBlocks = 4;

  // Room for so many blocks; what they hold is undefined.
  void resize(std::size_t blocks) {
    groups_ = (blocks + kGroupBlocks - 1) / kGroupBlocks;
    values_.reserve_discard(groups_ * kGroupBlocks * 64 * sizeof(std::int16_t));
    nonzero_.reserve_discard(groups_ * kGroupBlocks * sizeof(std::uint64_t));
  }

  [[nodiscard]] std::size_t groups() const noexcept { return groups_; }
  // 64 values a block; the first is DC.
  [[nodiscard]] std::int16_t* values() noexcept { return reinterpret_cast<std::int16_t*>(values_.data()); }
  [[nodiscard]] const std::int16_t* values() const noexcept {
    return reinterpret_cast<const std::int16_t*>(values_.data());
  }
  // Bit k of a block's: value k is not zero.
  [[nodiscard]] std::uint64_t* nonzero() noexcept { return reinterpret_cast<std::uint64_t*>(nonzero_.data()); }
  [[nodiscard]] const std::uint64_t* nonzero() const noexcept {
    return reinterpret_cast<const std::uint64_t*>(nonzero_.data());
  }

 private:
  std::size_t groups_ = 0;
  AlignedBytes values_;
  AlignedBytes nonzero_;
};

}  // namespace unstarve
