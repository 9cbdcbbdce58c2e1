#pragma once
// The instruction sets that SIMD kernels are compiled for. Include this before any Highway header.
//
// On x86-64: plain loops (Highway's SCALAR or EMU128), SSE4, AVX2, AVX-512 (AVX3) and its Ice Lake extension (AVX3_DL),
// chosen at run time. SSSE3 is omitted: machines of that age (2006) run the plain loops. Vectors of unknown length
// (SVE) are omitted because the kernels' tables are per 128-bit block; those machines run NEON.

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#define HWY_WANT_AVX3_DL 1

namespace unstarve {

// Whether kernels that support both widths use 512-bit or 256-bit vectors on this machine. Results do not depend on it.
//
// Intel's cores up to Ice Lake change their power state for short bursts of 512-bit instructions, which cost more than
// it gained (165 us instead of 57 us for a 224 x 224 resize after other code). AMD's cores from Zen 4 on and Intel's
// from Sapphire Rapids on do not; AVX512_BF16, introduced with both, identifies them.
[[nodiscard]] bool wide_vectors_pay();

// Overrides the choice. For tests; no other thread may run kernels during the call.
void choose_wide_vectors(bool value);

}  // namespace unstarve
