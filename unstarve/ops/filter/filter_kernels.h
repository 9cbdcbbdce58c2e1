#pragma once
// The inner loops of the filters, for one row of values. Private to this folder.
//
// Threads: pure. Every instruction set gives the same bits. Reads and writes `count` values only, and neighbours where
// documented.

#include <cstddef>
#include <cstdint>

namespace unstarve {

// sums[i] += weight * (a[i] + b[i]), modulo 2^32.
void add_weighted(const std::uint8_t* a, const std::uint8_t* b, std::uint32_t weight, std::size_t count,
                  std::uint32_t* sums);
void add_weighted(const std::uint16_t* a, const std::uint16_t* b, std::uint32_t weight, std::size_t count,
                  std::uint32_t* sums);

// A row of values and its neighbours, each at the same column.
struct ThreeRows {
  const std::uint8_t *above, *row, *below;
};
// One row of adjust_sharpness(): the three rows are read from 3 values before to 3 after. weight: in 1/65536.
void sharpen_row(ThreeRows rows, std::int32_t weight, std::size_t count, std::uint8_t* to);

}  // namespace unstarve
