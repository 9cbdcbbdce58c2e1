#pragma once
// For tests of the inverse transforms: blocks of every kind, and rows of them in the decoder's layout.
//
// Threads: pure functions, except that they modify the row and the random number generator passed in.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/layout/coefficients.h"
#include "unstarve/core/random.h"

namespace unstarve::testing {

struct Block {
  std::int16_t values[64] = {};
};

// Only DC, few coefficients, only a first row, many coefficients, or values no image has. `dc_alone`: always only DC.
inline Block random_block(Random& random, bool dc_alone = false) {
  Block block;
  const std::uint32_t kind = random.below(5);
  const int limit = kind == 4 ? 65536 : 400;
  const auto value = [&] {
    return static_cast<std::int16_t>(static_cast<int>(random.below(static_cast<std::uint32_t>(limit))) - limit / 2);
  };
  block.values[0] = value();
  if (dc_alone) return block;
  const std::uint32_t count = kind == 0 ? 0 : kind == 1 ? 1 + random.below(5) : random.below(64);
  const std::uint32_t positions = kind == 2 ? 8 : 64;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t position = 1 + random.below(positions - 1);
    block.values[position] = value();
  }
  return block;
}

inline void put(CoefficientRow& row, std::size_t number, const Block& block) {
  for (std::size_t i = 0; i < 64; ++i) row.block(number)[kSlots[i]] = block.values[i];
}

// The precondition for decoding the next row.
inline bool holds_zeros(CoefficientRow& row) {
  const std::int16_t* const values = row.block(0);
  return std::all_of(values, values + row.blocks() * CoefficientRow::kBlockValues,
                     [](std::int16_t v) { return v == 0; });
}

}  // namespace unstarve::testing
