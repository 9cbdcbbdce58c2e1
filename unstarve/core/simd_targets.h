#pragma once
// Which instruction sets SIMD kernels are compiled for; include it before any header of Highway.
//
// On x86-64: plain loops (Highway's SCALAR or EMU128), SSE4, AVX2, AVX-512 (AVX3) and its Ice Lake extension (AVX3_DL),
// chosen at run time. SSSE3 is left out: it dates from 2006, and such machines run the plain loops. Vectors of unknown
// length (SVE) are left out because the kernels' tables are per 128-bit block; those machines run NEON.

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#define HWY_WANT_AVX3_DL 1
