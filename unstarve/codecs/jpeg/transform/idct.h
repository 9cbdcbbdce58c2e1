#pragma once
// From coefficients to samples: dequantisation and the inverse discrete cosine transform of 8 x 8 blocks.
//
// The algorithm is that of Loeffler, Ligtenberg and Moschytz ("Practical fast 1-D DCT algorithms with 11
// multiplications", ICASSP 1989) in 13-bit fixed point with two bits more between the passes, as libjpeg's accurate
// integer method ("islow") defines it. Samples are bit-equal to libjpeg-turbo's SIMD code on x86-64, also for made-up
// coefficients that overflow 16 bits: sums of two inputs wrap, descaled values saturate, and where all columns of a
// block are constant the values between the passes wrap. libjpeg-turbo's NEON code gives the same samples for what an
// encoder makes of an image, and others for such coefficients.
//
// Threads: pure.

#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/layout/coefficients.h"

namespace unstarve {

// All blocks of `row` to 8 rows of samples each: block b to out + 8 * b, rows `stride` bytes apart; all of
// row.blocks() are written. `quantisation`: 64 factors in natural order. Leaves the coefficients zero.
void inverse_dct(CoefficientRow& row, const std::int16_t* quantisation, std::uint8_t* out, std::ptrdiff_t stride);

// One block, plain code: the reference. `coefficients`: 64 in natural order.
void inverse_dct_reference(const std::int16_t* coefficients, const std::int16_t* quantisation, std::uint8_t* out,
                           std::ptrdiff_t stride);

}  // namespace unstarve
