#pragma once
// The default tables of JPEG encoders: ITU-T T.81, annex K.
//
// Threads: constants and pure functions.

#include <array>
#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/layout/baseline_image.h"

namespace unstarve {

// 64 factors in natural order (row by row, vertical frequencies downwards).
using QuantisationTable = std::array<std::uint8_t, 64>;

// K.1 or K.2, scaled by libjpeg's definition of quality: 50 is the table itself, 100 all ones, 1 fifty times the table;
// factors are clamped to 1..255. `quality`: 1..100.
[[nodiscard]] QuantisationTable quantisation_table(bool chrominance, int quality);

// K.3 to K.6.
extern const HuffmanCodes kDcLuminanceCodes;
extern const HuffmanCodes kDcChrominanceCodes;
extern const HuffmanCodes kAcLuminanceCodes;
extern const HuffmanCodes kAcChrominanceCodes;

}  // namespace unstarve
