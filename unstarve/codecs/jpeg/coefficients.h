#pragma once
// One row of blocks of coefficients, in the layout that the entropy decoder writes and the IDCT reads.
//
// Four neighbouring blocks form a group, interleaved row by row, so that one vector load brings the same row of two or
// four blocks:
//
//   group:  row 0 of blocks 0 1 2 3 | row 1 of blocks 0 1 2 3 | ... | row 7 | 32 unused
//
// The decoder writes only the coefficients that are not zero, and one into the unused end when a block ends; so all
// must be zero before, and the IDCT leaves zeros behind.
// Beside the coefficients, per block, the zigzag number of its last coefficient: 0 when there is only DC.
//
// Threads: plain memory, one writer.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "unstarve/core/aligned.h"

namespace unstarve {

class CoefficientRow {
 public:
  static constexpr std::size_t kGroupBlocks = 4;
  static constexpr std::size_t kGroupValues = 64 * kGroupBlocks + 32;

  // Room for so many blocks, all zero.
  void resize(std::size_t blocks) {
    groups_ = (blocks + kGroupBlocks - 1) / kGroupBlocks;
    const std::size_t before = values_.capacity();
    values_.reserve_discard(groups_ * kGroupValues * sizeof(std::int16_t));
    last_.reserve_discard(groups_ * kGroupBlocks);
    if (values_.capacity() != before) clear();
  }
  // After a failed decoding, when not all blocks went through the IDCT.
  void clear() {
    if (values_.capacity() > 0) std::memset(values_.data(), 0, values_.capacity());
  }

  [[nodiscard]] std::size_t groups() const noexcept { return groups_; }
  [[nodiscard]] std::int16_t* values() noexcept { return reinterpret_cast<std::int16_t*>(values_.data()); }
  // Of the blocks of the last group that do not exist, what is left there from before: only a hint.
  [[nodiscard]] std::uint8_t* last() noexcept { return last_.data(); }

  // Where a block's coefficient of natural-order index 0 lies in values().
  [[nodiscard]] static constexpr std::size_t place(std::size_t block) noexcept {
    return block / kGroupBlocks * kGroupValues + block % kGroupBlocks * 8;
  }

 private:
  std::size_t groups_ = 0;
  AlignedBytes values_;
  AlignedBytes last_;
};

}  // namespace unstarve
