#pragma once
// Huffman codes as a look-up table made for speed: one entry tells all that the entropy decoder needs of one symbol, or
// of two.
//
// An entry belongs to the next kBits bits of the stream. JPEG's symbols are a run of zero coefficients and the number
// of bits of the value that follows the code. The decoder's time is the latency from one look-up to the next, so where
// kBits bits hold a symbol and another one with all of its value, the entry resolves both. Its fields are where the
// decoder's shifts want them:
//
//   bits  0..5    bits of all codes and values of the entry: what to consume   (a shift by the entry consumes them)
//   bit   7       kLong: the code is longer than kBits, ask decode_long()
//   bits  8..12   first symbol: bits of the code                               (a shift by entry >> 8 skips it)
//   bits 16..21   first symbol: 63 - bits of the value                         (a shift by entry >> 16 keeps the value)
//   bits 24..31   first symbol: coefficients to go on, run + 1 or kEndOfBlock
//   bits 40..45   first symbol: bits of code and value
//   bits 48..55   coefficients to go on by both together
//   bits 56..63   second symbol: its value, signed; without a second symbol 0
//
// Threads: plain data. Cost: building takes a few microseconds; tables differ from file to file, so that it is paid per
// file, and pairs are worth it only for files of some size.

#include <array>
#include <cstdint>

#include "unstarve/codecs/jpeg/baseline_image.h"

namespace unstarve {

template <int kLookUpBits>
class HuffmanTable {
 public:
  static constexpr int kBits = kLookUpBits;
  static constexpr std::uint64_t kLong = 1u << 7;
  // Larger than any coefficient's number, so that "go on" leads out of the block.
  static constexpr std::uint64_t kEndOfBlock = 128;

  // False, and the table unusable, when the codes are no prefix code, or a symbol is outside of what 8-bit baseline
  // files hold (DC values of at most 11 bits, AC values of at most 10).
  // `pairs`: with entries of two symbols (AC only); a decoder that is near a block's end takes their first alone.
  [[nodiscard]] bool build(const HuffmanCodes& codes, bool ac, bool pairs);

  [[nodiscard]] const std::uint64_t* entries() const noexcept { return entries_.data(); }
  // The entry of the code of more than kBits bits that `stream` begins with (its first bit is the highest); 0, which
  // is no valid entry, when there is no such code.
  [[nodiscard]] std::uint64_t decode_long(std::uint64_t stream) const noexcept;

 private:
  [[nodiscard]] static std::uint64_t entry_of(std::uint8_t symbol, int bits, bool ac) noexcept;

  [[nodiscard]] bool build_singles();
  void build_pairs();

  std::array<std::uint64_t, 1u << kBits> entries_{};
  HuffmanCodes codes_;
  bool ac_ = false;
  bool built_ = false;
  bool paired_ = false;
  // Per code length: the first code, the number of its symbol, and one past the last code.
  std::array<std::int32_t, 17> first_{};
  std::array<std::int32_t, 17> symbol_{};
  std::array<std::int32_t, 17> end_{};
};

// DC codes are at most 9 bits long in nearly all files. Eleven bits for AC resolve more pairs, but two such tables and
// the coefficients no longer fit into 32 to 48 KiB of first-level cache: 566 against 590 us per photograph.
using DcTable = HuffmanTable<8>;
using AcTable = HuffmanTable<10>;

}  // namespace unstarve
