#pragma once
// One row of blocks of coefficients, in the layout that the entropy decoder writes and the IDCT reads.
//
// Four neighbouring blocks form a group, interleaved row by row, so that one vector load brings the same row of two or
// four blocks:
//
//   group:  row 0 of blocks 0 1 2 3 | row 1 of blocks 0 1 2 3 | ... | row 7 | 8 unused for each of blocks 0 1 2 3
//
// The decoder writes only the coefficients that are not zero, and some into the unused end; so all must be zero before,
// and the IDCT leaves zeros behind. In the unused end of a block it also says how the block ended.
//
// Threads: plain memory, one writer.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "unstarve/core/aligned.h"

namespace unstarve {

// How a block ended, as the entropy decoder's counting leaves it.
struct BlockEnd {
  static constexpr std::uint8_t kFull = 0;    // with its last coefficient
  static constexpr std::uint8_t kEarly = 65;  // by a symbol: this plus the zigzag number of the last coefficient
  // What lies between has gone on beyond the last coefficient.
};

class CoefficientRow {
 public:
  static constexpr std::size_t kGroupBlocks = 4;
  static constexpr std::size_t kGroupValues = 64 * kGroupBlocks + 32;
  // From a block's DC: its unused values, the second of which is its BlockEnd.
  static constexpr std::size_t kUnused = 64 * kGroupBlocks;
  static constexpr std::size_t kEnd = kUnused + 1;

  // Room for so many blocks, all zero.
  void resize(std::size_t blocks) {
    groups_ = (blocks + kGroupBlocks - 1) / kGroupBlocks;
    const std::size_t before = values_.capacity();
    values_.reserve_discard(groups_ * kGroupValues * sizeof(std::int16_t));
    if (values_.capacity() != before) clear();
  }
  // After a failed decoding, when not all blocks went through the IDCT.
  void clear() {
    if (values_.capacity() > 0) std::memset(values_.data(), 0, values_.capacity());
  }

  [[nodiscard]] std::size_t groups() const noexcept { return groups_; }
  [[nodiscard]] std::int16_t* values() noexcept { return reinterpret_cast<std::int16_t*>(values_.data()); }

  // Where a block's coefficient of natural-order index 0 lies in values().
  [[nodiscard]] static constexpr std::size_t place(std::size_t block) noexcept {
    return block / kGroupBlocks * kGroupValues + block % kGroupBlocks * 8;
  }
  // Whether so many blocks of a group, from the one whose DC `values` points to, have nothing but DC. Of blocks of the
  // last group that do not exist, it is what was there before: no more than a hint.
  [[nodiscard]] static bool all_flat(const std::int16_t* values, std::size_t blocks) noexcept {
    unsigned other = 0;
    for (std::size_t i = 0; i < blocks; ++i) other |= static_cast<unsigned>(values[kEnd + 8 * i] ^ BlockEnd::kEarly);
    return (other & 255) == 0;
  }

 private:
  std::size_t groups_ = 0;
  AlignedBytes values_;
};

}  // namespace unstarve
