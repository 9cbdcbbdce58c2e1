#pragma once
// From coefficients to fewer samples: dequantisation and the inverse transform of 8 x 8 blocks to 4 x 4, 2 x 2 or one.
//
// Not a transform of 8 x 8 and an average: the low frequencies alone, as libjpeg's jidctred.c does it in the fixed
// point of the accurate method (idct.h). Samples are bit-equal to libjpeg-turbo's SIMD code on x86-64, also for made-up
// coefficients that overflow 16 bits: products wrap, descaled values saturate (at 2 x 2 those of column 0 do not), and
// at 4 x 4, without vertical frequencies, the values between the passes wrap; a single sample wraps at 10 bits.
//
// Threads: pure.

#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/layout/coefficients.h"

namespace unstarve {

// All blocks of `row` to `size` (4, 2 or 1) rows of samples each: block b to out + size * b, rows `stride` bytes apart;
// whole groups are written. `quantisation`: 64 factors in natural order. Leaves the coefficients zero; at size 1 it
// looks at DC alone.
void inverse_dct_reduced(CoefficientRow& row, int size, const std::int16_t* quantisation, std::uint8_t* out,
                         std::ptrdiff_t stride);

// One block, plain code: the reference. `coefficients`: 64 in natural order; at size 1 it looks at the first alone.
void inverse_dct_reduced_reference(const std::int16_t* coefficients, int size, const std::int16_t* quantisation,
                                   std::uint8_t* out, std::ptrdiff_t stride);

}  // namespace unstarve
