#pragma once
// A 64-bit checksum that detects damage and distinguishes files, at memory speed. Not cryptographic: collisions can be
// forged.
//
// Consecutive 64-bit words go to four lanes. Each lane has the sum of its words, so that one changed word is always
// detected, and the sum of products of their halves, combined with a key that differs at each position (the
// construction of NH and XXH3), so that several changed or exchanged words are detected with probability 1 - 2^-64:
//
//   sums[lane] += word        products[lane] += low32(word ^ key) * high32(word ^ key)        key += kStep
//
// The last words are padded with zeros, and the length is part of the sum.
//
// Threads: pure functions. Cost: about two cycles per 32 bytes with AVX2, if memory is fast enough.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace unstarve {

// The state between two stripes; a stripe has one word of each lane.
struct ChecksumLanes {
  static constexpr std::size_t kCount = 4;
  static constexpr std::size_t kStripeBytes = kCount * sizeof(std::uint64_t);
  // Odd in both halves, so that both halves of the keys differ from position to position.
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio

  using Lanes = std::array<std::uint64_t, kCount>;
  alignas(kStripeBytes) Lanes keys = {0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89};
  alignas(kStripeBytes) Lanes sums{};
  alignas(kStripeBytes) Lanes products{};
};

[[nodiscard]] std::uint64_t checksum_of(std::span<const std::uint8_t> bytes);

// The scalar reference, for tests.
[[nodiscard]] std::uint64_t checksum_reference(std::span<const std::uint8_t> bytes);

// Combines 64-bit values into one that depends on all of them and on their order.
struct MixedWords {
  std::uint64_t value = 0x243F6A8885A308D3;  // the first bits of pi's fraction, like the keys
  void add(std::uint64_t word) {
    value = (value ^ word) * ChecksumLanes::kStep;
    value ^= value >> 29;
  }
};

}  // namespace unstarve
