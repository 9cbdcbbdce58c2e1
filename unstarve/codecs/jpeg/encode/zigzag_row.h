#pragma once
// One row of blocks of quantised coefficients in zigzag order: the forward transform's output and the entropy encoder's
// input. A bit mask per block marks the nonzero coefficients, so that the encoder can skip from one to the next.
//
// Blocks are written in groups of kGroupBlocks; memory is allocated for whole groups.
// Threads: plain memory, one writer.

#include <cstddef>
#include <cstdint>

#include "unstarve/core/aligned.h"

namespace unstarve {

class ZigzagRow {
 public:
  static constexpr std::size_t kGroupBlocks = 4;

  // Allocates `blocks` blocks with undefined contents.
  void resize(std::size_t blocks) {
    groups_ = (blocks + kGroupBlocks - 1) / kGroupBlocks;
    values_.reserve_discard(groups_ * kGroupBlocks * 64 * sizeof(std::int16_t));
    nonzero_.reserve_discard(groups_ * kGroupBlocks * sizeof(std::uint64_t));
  }

  [[nodiscard]] std::size_t groups() const noexcept { return groups_; }
  // 64 values per block; the first is DC.
  [[nodiscard]] std::int16_t* values() noexcept { return reinterpret_cast<std::int16_t*>(values_.data()); }
  [[nodiscard]] const std::int16_t* values() const noexcept {
    return reinterpret_cast<const std::int16_t*>(values_.data());
  }
  // Per block: bit k is set if value k is not zero.
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
