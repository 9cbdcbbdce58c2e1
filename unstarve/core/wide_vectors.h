#pragma once
// Whether kernels that support both widths use 512-bit or 256-bit vectors on this machine.
//
// Intel's cores up to Ice Lake change their power state for short bursts of 512-bit instructions, which cost more than
// it gained (165 us instead of 57 us for a 224 x 224 resize after other code). AMD's cores from Zen 4 on and Intel's
// from Sapphire Rapids on do not; AVX512_BF16, introduced with both, identifies them.
//
// Results do not depend on the width. Threads: any, except for choose_wide_vectors().

namespace unstarve {

[[nodiscard]] bool wide_vectors_pay();

// Overrides the choice. For tests; no other thread may run kernels during the call.
void choose_wide_vectors(bool value);

}  // namespace unstarve
