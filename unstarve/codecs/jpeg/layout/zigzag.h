#pragma once
// The order in which JPEG files store the coefficients of a block (ITU-T T.81, figure A.6), and table look-ups that
// reorder vectors of eight values.
//
// Threads: constants and pure functions.

#include <array>
#include <cstddef>
#include <cstdint>

namespace unstarve {

// Maps each position in one order to a position in another.
using BlockOrder = std::array<std::uint8_t, 64>;

// The natural-order index of the coefficient at each stored position.
inline constexpr BlockOrder kZigzag = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,   //
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,  //
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,  //
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

// Selects bytes for eight 16-bit values from one eighth of the source: indices for a table look-up, 0x80 for values
// from other eighths.
struct EighthSelection {
  alignas(16) std::array<std::uint8_t, 16> bytes{};
  bool any = false;
};

// For order[8 * eighth] .. order[8 * eighth + 7]: the values in 8 * source .. 8 * source + 7.
constexpr EighthSelection eighth_selection(const BlockOrder& order, std::size_t eighth, std::size_t source) {
  EighthSelection selection;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t from = order[8 * eighth + i];
    const bool here = from / 8 == source;
    selection.any = selection.any || here;
    selection.bytes[2 * i] = static_cast<std::uint8_t>(here ? from % 8 * 2 : 0x80);
    selection.bytes[2 * i + 1] = static_cast<std::uint8_t>(here ? from % 8 * 2 + 1 : 0x80);
  }
  return selection;
}

template <const BlockOrder& kOrder, std::size_t kEighth, std::size_t kSource>
inline constexpr EighthSelection kEighthSelection = eighth_selection(kOrder, kEighth, kSource);

}  // namespace unstarve
