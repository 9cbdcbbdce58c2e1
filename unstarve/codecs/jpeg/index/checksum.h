#pragma once
// A sum of 64 bits over bytes that finds damage and tells files apart, at the speed of memory. It does not resist
// anyone.
//
// Four lanes of words of 64 bits, as they follow each other. Of each lane the sum of its words, so that one changed
// word always shows, and the sum of products of their halves with a key that is another one at each place (the
// construction of NH and XXH3), so that several changes, or words in other places, show but for chance (2^-64):
//
//   sums[lane] += word        products[lane] += low32(word ^ key) * high32(word ^ key)        key += kStep
//
// The last words are filled up with zeros, and the length is part of the sum.
//
// Threads: pure functions. Cost: 32 bytes in some two cycles with AVX2, where the memory keeps up.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace unstarve {

// Between two stripes, a word of each lane.
struct ChecksumLanes {
  static constexpr std::size_t kCount = 4;
  static constexpr std::size_t kStripeBytes = kCount * sizeof(std::uint64_t);
  // Odd in both of its halves, so that both halves of the keys differ from place to place.
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio

  using Lanes = std::array<std::uint64_t, kCount>;
  alignas(kStripeBytes) Lanes keys = {0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89};
  alignas(kStripeBytes) Lanes sums{};
  alignas(kStripeBytes) Lanes products{};
};

[[nodiscard]] std::uint64_t checksum_of(std::span<const std::uint8_t> bytes);

// The same without vectors, for tests.
[[nodiscard]] std::uint64_t checksum_reference(std::span<const std::uint8_t> bytes);

// Values of 64 bits, one after the other, to one that depends on all of them and on their order.
struct MixedWords {
  std::uint64_t value = 0x243F6A8885A308D3;  // the first bits of pi's fraction, as the keys
  void add(std::uint64_t word) {
    value = (value ^ word) * ChecksumLanes::kStep;
    value ^= value >> 29;
  }
};

}  // namespace unstarve
