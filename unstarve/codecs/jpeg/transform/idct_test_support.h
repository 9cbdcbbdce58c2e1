#pragma once
// What the tests of the inverse transforms share: blocks of every kind, and rows of them as the decoder leaves them.
//
// Threads: pure functions but for the row and the random numbers that they are given.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/layout/coefficients.h"
#include "unstarve/core/random.h"

namespace unstarve::testing {

struct Block {
  std::int16_t values[64] = {};
};

// DC alone, few coefficients, a first row alone, many, and values no image has. `dc_alone`: always the first of these.
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
  const std::uint32_t places = kind == 2 ? 8 : 64;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t place = 1 + random.below(places - 1);
    block.values[place] = value();
  }
  return block;
}

inline void put(CoefficientRow& row, std::size_t number, const Block& block) {
  for (std::size_t i = 0; i < 64; ++i) row.block(number)[kSlots[i]] = block.values[i];
}

// As the next row of blocks expects it.
inline bool holds_zeros(CoefficientRow& row) {
  const std::int16_t* const values = row.block(0);
  return std::all_of(values, values + row.blocks() * CoefficientRow::kBlockValues,
                     [](std::int16_t v) { return v == 0; });
}

}  // namespace unstarve::testing
