#pragma once
// One row of blocks of coefficients, in the layout that the entropy decoder writes and the IDCT reads: one block after
// the other, each in zigzag order (T.81, figure 5), rotated by one:
//
//   slot of a block:   0    1    2    3   ...   63
//   zigzag number:    63    0    1    2   ...   62
//
// So a slot is the low six bits of the number by which the decoder counts (entropy/entropy_blocks.h) and needs no
// look-up. The decoder writes only nonzero coefficients: all must be zero before, and the IDCT resets them to zero.
//
// Threads: plain memory, one writer.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "unstarve/codecs/jpeg/layout/zigzag.h"
#include "unstarve/core/memory/aligned.h"

namespace unstarve {

class CoefficientRow {
 public:
  static constexpr std::size_t kBlockValues = 64;
  // Memory is allocated for whole groups of blocks.
  static constexpr std::size_t kGroupBlocks = 4;
  static constexpr std::size_t kDc = 1;  // its slot

  // The number of blocks rounded up to whole groups.
  [[nodiscard]] static constexpr std::size_t whole_groups(std::size_t blocks) {
    return (blocks + kGroupBlocks - 1) / kGroupBlocks * kGroupBlocks;
  }

  // Allocates `blocks` blocks, rounded up to whole groups. All are zero, provided that those of the previous size were.
  // Throws std::bad_alloc; there are no blocks then.
  void resize(std::size_t blocks) {
    blocks_ = 0;
    const std::size_t before = values_.capacity();
    values_.reserve_discard(bytes_of(whole_groups(blocks)));
    if (values_.capacity() != before) std::memset(values_.data(), 0, values_.capacity());
    blocks_ = whole_groups(blocks);
  }
  // Zeroes all blocks. Needed after failed decoding, when the IDCT has not processed all of them.
  void clear() {
    if (blocks_ > 0) std::memset(values_.data(), 0, bytes_of(blocks_));
  }

  // Including those that fill the last group.
  [[nodiscard]] std::size_t blocks() const noexcept { return blocks_; }
  // The slots of a block.
  [[nodiscard]] std::int16_t* block(std::size_t number) noexcept {
    return reinterpret_cast<std::int16_t*>(values_.data()) + number * kBlockValues;
  }

 private:
  [[nodiscard]] static constexpr std::size_t bytes_of(std::size_t blocks) {
    return blocks * kBlockValues * sizeof(std::int16_t);
  }

  std::size_t blocks_ = 0;
  AlignedBytes values_;
};

// The slot of the coefficient of natural-order index 8 * y + x.
inline constexpr BlockOrder kSlots = [] {
  BlockOrder slots{};
  for (std::size_t i = 0; i < 64; ++i) slots[kZigzag[i]] = static_cast<std::uint8_t>((i + CoefficientRow::kDc) % 64);
  return slots;
}();

}  // namespace unstarve
