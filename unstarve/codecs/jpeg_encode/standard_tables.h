#pragma once
// The tables of ITU-T T.81, annex K, that JPEG files are encoded with unless they bring better ones of their own, and
// the order in which coefficients are stored (figure A.6).
//
// Threads: constants and pure functions.

#include <array>
#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/baseline_image.h"

namespace unstarve {

// 64 factors in natural order (row by row, vertical frequencies downwards).
using QuantisationTable = std::array<std::uint8_t, 64>;

// K.1 or K.2, scaled as libjpeg defines quality: 50 is the table itself, 100 all ones, 1 fifty times the table; factors
// are kept within 1..255. `quality`: 1..100.
[[nodiscard]] QuantisationTable quantisation_table(bool chrominance, int quality);

// K.3 to K.6.
extern const HuffmanCodes kDcLuminanceCodes;
extern const HuffmanCodes kDcChrominanceCodes;
extern const HuffmanCodes kAcLuminanceCodes;
extern const HuffmanCodes kAcChrominanceCodes;

// The natural-order index of the coefficient that is stored in each place.
inline constexpr std::array<std::uint8_t, 64> kZigzag = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,   //
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,  //
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,  //
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

}  // namespace unstarve
