#pragma once
// Dequantisation and reduced inverse transform of 8 x 8 blocks to 4 x 4, 2 x 2 or 1 x 1 samples.
//
// Uses only the low frequencies (not the average of 8 x 8 samples), as in libjpeg's jidctred.c, in the fixed point of
// the accurate method (idct.h). Samples are bit-equal to libjpeg-turbo's SIMD code on x86-64, also for forged
// coefficients that overflow 16 bits: products wrap, descaled values saturate (at 2 x 2 those of column 0 do not), and
// at 4 x 4, without vertical frequencies, the values between the passes wrap; a single sample wraps at 10 bits.
//
// Threads: pure.

#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/layout/coefficients.h"

namespace unstarve {

// Transforms all blocks of `row`, in whole groups, to `size` (4, 2 or 1) rows of samples each, `stride` bytes apart:
// block b to out + size * b. `quantisation`: 64 factors in natural order. Zeroes the coefficients. Size 1 uses only DC.
void inverse_dct_reduced(CoefficientRow& row, int size, const std::int16_t* quantisation, std::uint8_t* out,
                         std::ptrdiff_t stride);

// One block; the scalar reference. `coefficients`: 64 in natural order; size 1 uses only the first.
void inverse_dct_reduced_reference(const std::int16_t* coefficients, int size, const std::int16_t* quantisation,
                                   std::uint8_t* out, std::ptrdiff_t stride);

}  // namespace unstarve
