#pragma once
// The instruction sets that SIMD kernels are compiled for. Include this before any Highway header.
//
// On x86-64: plain loops (Highway's SCALAR or EMU128), SSE4, AVX2, AVX-512 (AVX3) and its Ice Lake extension (AVX3_DL),
// chosen at run time. SSSE3 is omitted: machines of that age (2006) run the plain loops. Vectors of unknown length
// (SVE) are omitted because the kernels' tables are per 128-bit block; those machines run NEON.

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#define HWY_WANT_AVX3_DL 1
