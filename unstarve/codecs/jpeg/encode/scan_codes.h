#pragma once
// The Huffman codes of a scan as the entropy encoder wants them: code and length of a symbol in one number, together
// with the bits of the value that follows the code.
//
// Such a number, an entry, holds the length in bits 0..5 and the bits above, so that a shift by the entry is a shift by
// the length (the processor takes six bits of it). Code and value have at most 26 bits.
//
// Threads: plain data, made once.

#include <array>
#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/layout/baseline_image.h"

namespace unstarve {

struct ScanCodes {
  static constexpr int kLengthBits = 6;
  // Values of -kSmall .. kSmall - 1 have their entries ready.
  static constexpr int kSmall = 64;
  // Symbols of AC (T.81, F.1.2.2).
  static constexpr std::uint32_t kEndOfBlock = 0x00;

  // [0]: luma, [1]: chroma. DC by the number of value bits; AC by the run of zeros before the value in bits 4..7 and
  // value bits in bits 0..3. With room for the value, whose bits are zero; 0 where there is no code.
  std::array<std::array<std::uint32_t, 16>, 2> dc{};
  std::array<std::array<std::uint32_t, 256>, 2> ac{};
  // AC with its value: by run << 8 | chroma << 7 | value + kSmall. Value 0 is meant for runs of 15 only.
  alignas(64) std::array<std::uint32_t, 16 << 8> small{};

  // DC of `value`.
  [[nodiscard]] std::uint32_t dc_entry(bool chroma, int value) const { return with_value(dc[chroma].data(), value); }
  [[nodiscard]] std::uint32_t ac_entry(bool chroma, int run, int value) const {
    return with_value(ac[chroma].data() + 16 * run, value);
  }

  // `by_bits`: the entry by the value's number of bits.
  [[nodiscard]] static std::uint32_t with_value(const std::uint32_t* by_bits, int value) {
    const int sign = value >> 31;
    const auto magnitude = static_cast<std::uint32_t>((value ^ sign) - sign);
    const int bits = magnitude == 0 ? 0 : 32 - __builtin_clz(magnitude);
    // T.81, F.1.2.1: a value's bits are its own where it is positive, those of the value less one where it is not.
    const std::uint32_t value_bits = static_cast<std::uint32_t>(value + sign) & ((1u << bits) - 1);
    return by_bits[bits] + (value_bits << kLengthBits);
  }
};

// Of the tables of T.81, annex K.
[[nodiscard]] const ScanCodes& standard_codes();

}  // namespace unstarve
