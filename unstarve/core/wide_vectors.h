#pragma once
// Whether kernels with a choice use vectors of 512 bits on this machine, or of 256.
//
// Intel's cores up to Ice Lake change their power state for short bursts of 512-bit instructions, which cost more than
// they brought (57 us became 165 us for a 224 x 224 resize that followed other code). AMD's from Zen 4 on and Intel's
// from Sapphire Rapids on do not: they are told apart by AVX512_BF16, which came with them.
//
// Results do not depend on it. Threads: any, but for choose_wide_vectors().

namespace unstarve {

[[nodiscard]] bool wide_vectors_pay();

// Instead of what the processor says; for tests, while no other thread runs kernels.
void choose_wide_vectors(bool value);

}  // namespace unstarve
