#pragma once
// Dequantisation and inverse discrete cosine transform (IDCT) of 8 x 8 blocks.
//
// The algorithm is that of Loeffler, Ligtenberg and Moschytz ("Practical fast 1-D DCT algorithms with 11
// multiplications", ICASSP 1989) in 13-bit fixed point with two more bits between the passes, as defined by libjpeg's
// accurate integer method ("islow"). Samples are bit-equal to libjpeg-turbo's SIMD code on x86-64, also for forged
// coefficients that overflow 16 bits: sums of two inputs wrap, descaled values saturate, and if all columns of a block
// are constant, the values between the passes wrap. libjpeg-turbo's NEON code gives the same samples for coefficients
// of encoded images, but not for forged ones.
//
// Threads: pure.

#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/layout/coefficients.h"

namespace unstarve {

// Transforms all row.blocks() blocks of `row` to 8 rows of samples each: block b to out + 8 * b, rows `stride` bytes
// apart. `quantisation`: 64 factors in natural order. Zeroes the coefficients.
void inverse_dct(CoefficientRow& row, const std::int16_t* quantisation, std::uint8_t* out, std::ptrdiff_t stride);

// One block; the scalar reference. `coefficients`: 64 in natural order.
void inverse_dct_reference(const std::int16_t* coefficients, const std::int16_t* quantisation, std::uint8_t* out,
                           std::ptrdiff_t stride);

}  // namespace unstarve
