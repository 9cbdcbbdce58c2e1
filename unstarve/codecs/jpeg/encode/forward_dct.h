#pragma once
// Forward discrete cosine transform (DCT) of 8 x 8 blocks, quantisation and zigzag order: from samples to stored
// coefficients.
//
// The transform is that of Loeffler, Ligtenberg and Moschytz ("Practical fast 1-D DCT algorithms with 11
// multiplications", ICASSP 1989) in 13-bit fixed point with two more bits between the passes, rows first, as defined by
// libjpeg's accurate integer method (jfdctint.c). Quotients are rounded to nearest, halves away from zero.
// Coefficients are bit-equal to libjpeg-turbo's.
//
// Threads: pure.

#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/encode/quantiser.h"
#include "unstarve/codecs/jpeg/encode/standard_tables.h"
#include "unstarve/codecs/jpeg/encode/zigzag_row.h"

namespace unstarve {

// Fills all groups of `row` from 8 rows of samples, `stride` bytes apart: block b from samples + 8 * b.
void forward_dct(const std::uint8_t* samples, std::ptrdiff_t stride, const Quantiser& quantiser, ZigzagRow& row);

// One block; the scalar reference. `out`: 64 values in zigzag order.
void forward_dct_reference(const std::uint8_t* samples, std::ptrdiff_t stride, const QuantisationTable& factors,
                           std::int16_t* out);

}  // namespace unstarve
