#pragma once
// For tests of Huffman decoding: random codes, and a decoder that reads bit by bit. Include from test files only.

#include <algorithm>
#include <cstdint>

#include "unstarve/codecs/jpeg/entropy/huffman_table.h"
#include "unstarve/core/random.h"

namespace unstarve::testing {

struct Symbol {
  int code_bits = 0;  // 0: unknown code
  int run = 0;
  int value_bits = 0;
  int value = 0;
  bool ends = false;

  [[nodiscard]] int onward() const { return ends ? HuffmanEntry::kEndOfBlock : run + 1; }
};

// The symbol at the start of `stream`, read bit by bit as in T.81's figure F.16.
inline Symbol read_symbol(const HuffmanCodes& codes, std::uint64_t stream, bool ac) {
  int code = 0, first = 0;
  std::size_t number = 0;
  for (int bits = 1; bits <= 16; ++bits) {
    code = static_cast<int>(stream >> (64 - bits));
    const int count = codes.counts[static_cast<std::size_t>(bits)];
    if (code - first < count) {
      const int symbol = codes.symbols[number + static_cast<std::size_t>(code - first)];
      Symbol read{bits, ac ? symbol >> 4 : 0, ac ? symbol & 15 : symbol, 0, false};
      read.ends = ac && read.value_bits == 0 && read.run != 15;
      if (read.value_bits > 0) {
        const int raw = static_cast<int>(stream << bits >> (64 - read.value_bits));
        const bool positive = raw >> (read.value_bits - 1) != 0;
        read.value = positive ? raw : raw - (1 << read.value_bits) + 1;
      }
      return read;
    }
    number += static_cast<std::size_t>(count);
    first = (first + count) << 1;
  }
  return {};
}

// A random prefix code over random symbols that are valid in 8-bit baseline files; not always complete.
inline HuffmanCodes random_codes(Random& random, bool ac) {
  HuffmanCodes codes;
  int room = 1;
  std::size_t symbols = 0;
  for (int bits = 1; bits <= 16; ++bits) {
    room *= 2;
    const int most = std::min(room - 1, 40);
    const int count =
        bits < 2 ? 0 : static_cast<int>(random.below(static_cast<std::uint32_t>(most) + 1)) / (bits < 8 ? 2 : 1);
    for (int i = 0; i < count && symbols < 200; ++i) {
      const auto low = static_cast<int>(random.below(ac ? 11 : 12));
      codes.symbols[symbols++] = static_cast<std::uint8_t>(ac ? static_cast<int>(random.below(16)) << 4 | low : low);
      ++codes.counts[static_cast<std::size_t>(bits)];
      --room;
    }
  }
  return codes;
}

}  // namespace unstarve::testing
