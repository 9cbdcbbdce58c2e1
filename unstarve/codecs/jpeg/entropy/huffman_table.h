#pragma once
// Huffman codes as look-up tables made for speed: one entry tells all that the entropy decoder needs of one symbol, or
// of two.
//
// JPEG's symbols are a run of zero coefficients and the number of bits of the value that follows the code. An entry
// belongs to the next kBits bits of the stream. The decoder's time is the latency from one look-up to the next, so
// where kBits bits hold a symbol and another one with all of its value, the entry resolves both.
//
// A value's first bit is its sign (T.81, F.1.2.1). Every entry knows it, since it lies within the bits looked up, and
// so the value is bits of the stream plus a constant: no arithmetic upon a sign that has to be found first.
//
// What kBits bits do not resolve (longer codes, and codes whose sign lies behind) has a second table behind the first:
// the first entry consumes kBits bits and tells where the second begins and how many bits it is looked up by.
//
// Threads: plain data. Cost: building takes a few microseconds; tables differ from file to file, so that it is paid per
// file, and pairs are worth it only for files of some size.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "unstarve/codecs/jpeg/layout/baseline_image.h"

namespace unstarve {

struct HuffmanEntry {
  // Coefficients to go on that no right block allows, which is what the kernels look for.
  static constexpr std::uint8_t kSecond = 64;   // look into a second table
  static constexpr std::uint8_t kNoCode = 128;  // such a code does not exist
  // In `both`: the block ends, whatever number it is at. 128, and one to go on, to a coefficient that is not there.
  static constexpr std::uint8_t kEndOfBlock = 129;

  std::uint8_t bits = 0;   // of all codes and values of the entry: what to consume
  std::uint8_t first = 0;  // coefficients to go on by the first symbol: run + 1; 1 at the block's end; or see above
  std::uint8_t both = 0;   // the same by both symbols; kEndOfBlock more where one of them ends the block
  std::int8_t second = 0;  // second symbol: its value; without a second symbol 0
  // First symbol: where the value's bits lie in the 64 bits of the stream, counted from the lowest; and how many.
  std::uint8_t value_from = 0;
  std::uint8_t value_bits = 0;
  std::int16_t value_base = 0;  // what is added to them

  // Of an entry with first == kSecond: it has kBits bits, `value_from` is 64 - the second table's bits, and
  // `value_base` its first entry.
};

// Entries field by field: what is looked up by a byte's index comes a cycle earlier than by a larger index. 2^kBits
// entries of the first table and then those of second tables.
struct HuffmanEntries {
  static constexpr int kBits = 10;
  static constexpr std::size_t kFirst = std::size_t{1} << kBits;
  // All second tables: two entries for each prefix whose code is whole; and for longer codes, whose tables of n bits
  // are full of codes and signs of n bits but at their ends, where those of other lengths begin, twice the symbols and
  // twice 2^n for every n from 1 to 7. 1 KiB more, so that the fields' first tables lie in different sets of a cache of
  // 4 KiB ways.
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
  // Most bits of an entry of the first table. Three entries are consumed between two loads, after which 56 bits at
  // least are counted in and all 64 are right; so kBits are left for the next index, which does not wait for the load.
  // An entry of a second table has 17 bits at most, loaded behind the kBits of the first.
  static constexpr int kMostBits = 18;

  // False, and the table unusable, when the codes are no prefix code, one is all ones, or a symbol is outside of what
  // 8-bit baseline files hold (DC values of at most 11 bits, AC values of at most 10).
  // `pairs`: with entries of two symbols (AC only); a decoder that is near a block's end takes their first alone.
  [[nodiscard]] bool build(const HuffmanCodes& codes, bool ac, bool pairs);

  [[nodiscard]] const HuffmanEntries& entries() const noexcept { return entries_; }

 private:
  static constexpr std::size_t kFirst = HuffmanEntries::kFirst;

  // A code that goes on behind kBits bits, or its value's sign does; or a prefix of kBits bits whose code does not, but
  // which has too many bits altogether.
  struct LongCode {
    std::uint16_t at = 0;  // the first stream of 16 bits that begins with it
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
