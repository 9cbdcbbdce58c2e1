#pragma once
// The Huffman codes of a scan for the entropy encoder: a symbol's code, its length and the bits of the value after it
// in one number, called an entry.
//
// An entry has the length in bits 0..5 and the code and value above, so that a shift by the entry is a shift by the
// length (CPUs use the low six bits). Code and value have at most 26 bits.
//
// Threads: plain data, built once.

#include <array>
#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/layout/baseline_image.h"

namespace unstarve {

struct ScanCodes {
  static constexpr int kLengthBits = 6;
  // Values of -kSmall .. kSmall - 1 have precomputed entries.
  static constexpr int kSmall = 64;
  // Symbols of AC (T.81, F.1.2.2).
  static constexpr std::uint32_t kEndOfBlock = 0x00;

  // [0]: luma, [1]: chroma. DC is indexed by the number of value bits; AC by the run of zeros before the value in bits
  // 4..7 and the number of value bits in bits 0..3. The value's bits are zero; an entry is 0 if there is no code.
  std::array<std::array<std::uint32_t, 16>, 2> dc{};
  std::array<std::array<std::uint32_t, 256>, 2> ac{};
  // AC with its value, indexed by run << 8 | chroma << 7 | value + kSmall. Value 0 is valid only for runs of 15.
  alignas(64) std::array<std::uint32_t, 16 << 8> small{};

  // The entry of a DC difference.
  [[nodiscard]] std::uint32_t dc_entry(bool chroma, int value) const { return with_value(dc[chroma].data(), value); }
  [[nodiscard]] std::uint32_t ac_entry(bool chroma, int run, int value) const {
    return with_value(ac[chroma].data() + 16 * run, value);
  }

  // `by_bits`: entries indexed by the number of value bits.
  [[nodiscard]] static std::uint32_t with_value(const std::uint32_t* by_bits, int value) {
    const int sign = value >> 31;
    const auto magnitude = static_cast<std::uint32_t>((value ^ sign) - sign);
    const int bits = magnitude == 0 ? 0 : 32 - __builtin_clz(magnitude);
    // T.81, F.1.2.1: the bits are those of the value if it is positive, otherwise those of the value minus one.
    const std::uint32_t value_bits = static_cast<std::uint32_t>(value + sign) & ((1u << bits) - 1);
    return by_bits[bits] + (value_bits << kLengthBits);
  }
};

// The codes of the tables of T.81, annex K.
[[nodiscard]] const ScanCodes& standard_codes();

}  // namespace unstarve
