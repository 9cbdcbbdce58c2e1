#pragma once
// Huffman codes as look-up tables: one entry contains all that the entropy decoder needs for one symbol, or two.
//
// JPEG's symbols are a run of zero coefficients and the number of bits of the value that follows the code. An entry
// belongs to the next kBits bits of the stream. Decoding is limited by the latency from one look-up to the next, so if
// kBits bits contain a symbol and another one with its complete value, the entry resolves both.
//
// A value's first bit is its sign (T.81, F.1.2.1). It is among the bits of the look-up, so each entry has the sign,
// and the value is bits of the stream plus a constant, without further arithmetic.
//
// Codes that kBits bits do not resolve (longer codes, and codes whose sign follows later) have a second table: the
// first entry consumes kBits bits and contains the second table's position and the number of bits of its index.
//
// Threads: plain data. Cost: building takes a few microseconds per file, because tables differ between files; pairs pay
//          only for larger files.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "unstarve/codecs/jpeg/layout/baseline_image.h"

namespace unstarve {

struct HuffmanEntry {
  // Special values of `first`, which exceed any valid block, so that the kernels detect them.
  static constexpr std::uint8_t kSecond = 64;   // look into a second table
  static constexpr std::uint8_t kNoCode = 128;  // unknown code
  // In `both`: the block ends at any number. 128, plus one to advance to a coefficient that does not exist.
  static constexpr std::uint8_t kEndOfBlock = 129;

  std::uint8_t bits = 0;   // to consume: of all codes and values of the entry
  std::uint8_t first = 0;  // coefficients that the first symbol advances: run + 1; 1 at the block's end; or see above
  std::uint8_t both = 0;   // the same for both symbols; plus kEndOfBlock if one of them ends the block
  std::int8_t second = 0;  // the second symbol's value; 0 without a second symbol
  // The position of the first symbol's value in the 64 bits of the stream, from the lowest bit; and its number of bits.
  std::uint8_t value_from = 0;
  std::uint8_t value_bits = 0;
  std::int16_t value_base = 0;  // added to these bits

  // If first == kSecond: bits == kBits, `value_from` is 64 - the second table's bits, and `value_base` is its first
  // entry.
};

// Entries as one array per field, because loads with a byte index are a cycle faster. The 2^kBits entries of the first
// table are followed by those of second tables.
struct HuffmanEntries {
  static constexpr int kBits = 10;
  static constexpr std::size_t kFirst = std::size_t{1} << kBits;
  // Upper bound for all second tables: two entries for each prefix whose code is complete. For longer codes, tables of
  // n bits are full of codes and signs of n bits except at their ends, where other lengths begin: twice the number of
  // symbols plus twice 2^n for each n from 1 to 7. Plus 1 KiB, so that the fields' first tables are in different sets
  // of a cache with 4 KiB ways.
  static constexpr std::size_t kCount = kFirst + 2 * kFirst + 2 * 256 + 2 * 256 + 1024;

  struct Value {
    std::uint8_t from = 0;
    std::uint8_t bits = 0;
    std::int16_t base = 0;
  };

  alignas(64) std::array<std::uint8_t, kCount> bits{};
  std::array<std::uint8_t, kCount> first{};
  std::array<std::uint8_t, kCount> both{};
  std::array<std::int8_t, kCount> second{};
  std::array<Value, kCount> value{};

  [[nodiscard]] HuffmanEntry at(std::size_t i) const {
    return {bits[i], first[i], both[i], second[i], value[i].from, value[i].bits, value[i].base};
  }
  void fill(std::size_t from, std::size_t count, const HuffmanEntry& entry);
};

class HuffmanTable {
 public:
  static constexpr int kBits = HuffmanEntries::kBits;
  // The maximum bits of an entry of the first table. Three entries are consumed between two loads, after which at least
  // 56 bits are valid and all 64 are correct; so kBits remain for the next index, which need not wait for the load. An
  // entry of a second table has at most 17 bits, loaded after the first kBits.
  static constexpr int kMostBits = 18;

  // False, with the table unusable, if the codes are not a prefix code, a code is all ones, or a symbol is invalid in
  // 8-bit baseline files (DC values have at most 11 bits, AC values at most 10).
  // `pairs`: with entries of two symbols (AC only); near a block's end, a decoder uses only their first symbol.
  [[nodiscard]] bool build(const HuffmanCodes& codes, bool ac, bool pairs);

  [[nodiscard]] const HuffmanEntries& entries() const noexcept { return entries_; }

 private:
  static constexpr std::size_t kFirst = HuffmanEntries::kFirst;

  // A code that, with its value's sign, is longer than kBits; or a prefix of kBits bits of a shorter code that has too
  // many bits together with its value.
  struct LongCode {
    std::uint16_t at = 0;  // the smallest 16-bit stream that begins with it
    std::uint8_t bits = 0;
    std::uint8_t symbol = 0;
  };

  [[nodiscard]] bool build_singles();
  [[nodiscard]] bool build_second(std::span<const LongCode> codes, std::size_t& end);
  void build_pairs();

  HuffmanEntries entries_;
  HuffmanCodes codes_;
  bool ac_ = false;
  bool built_ = false;
  bool paired_ = false;
};

}  // namespace unstarve
