// The look-up tables against a decoder that reads bit by bit, as T.81's figure F.16 does.
#include "unstarve/codecs/jpeg/huffman_table.h"

#include <catch2/catch.hpp>
#include <memory>

#include "unstarve/core/random.h"

namespace unstarve {
namespace {

struct Symbol {
  int code_bits = 0;  // 0: no such code
  int run = 0;
  int value_bits = 0;
  int value = 0;
  bool ends = false;

  [[nodiscard]] std::uint64_t onward() const {
    return ends ? AcTable::kEndOfBlock : static_cast<std::uint64_t>(run) + 1;
  }
};

Symbol read_symbol(const HuffmanCodes& codes, std::uint64_t stream, bool ac) {
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

// A prefix code of random shape over random symbols that 8-bit baseline files may hold; not always complete.
HuffmanCodes random_codes(Random& random, bool ac) {
  HuffmanCodes codes;
  int room = 1;
  std::size_t symbols = 0;
  for (int bits = 1; bits <= 16; ++bits) {
    room *= 2;
    const int most = std::min(room - (bits < 16 ? 1 : 0), 40);
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

template <class Table>
std::uint64_t entry_for(const Table& table, std::uint64_t stream) {
  const std::uint64_t entry = table.entries()[stream >> (64 - Table::kBits)];
  return (entry & Table::kLong) != 0 ? table.decode_long(stream) : entry;
}

}  // namespace

TEST_CASE("a Huffman entry tells what reading bit by bit tells, one symbol or two", "[codecs]") {
  const auto table = std::make_unique<AcTable>();
  std::int64_t pairs = 0, none = 0;
  for (std::uint32_t round = 0; round < 60; ++round) {
    Random random(31, 0, round, 0);
    const HuffmanCodes codes = random_codes(random, true);
    const bool with_pairs = round % 2 == 0;
    REQUIRE(table->build(codes, true, with_pairs));
    for (int i = 0; i < 3000; ++i) {
      const std::uint64_t stream = std::uint64_t{random.bits()} << 32 | random.bits();
      const Symbol first = read_symbol(codes, stream, true);
      const std::uint64_t entry = entry_for(*table, stream);
      if (first.code_bits == 0) {
        ++none;
        REQUIRE(entry == 0);
        continue;
      }
      const int first_bits = first.code_bits + first.value_bits;
      REQUIRE((entry >> 8 & 63) == static_cast<std::uint64_t>(first.code_bits));
      REQUIRE((entry >> 16 & 63) == static_cast<std::uint64_t>(63 - first.value_bits));
      REQUIRE((entry >> 24 & 255) == first.onward());
      REQUIRE((entry >> 40 & 63) == static_cast<std::uint64_t>(first_bits));
      const int all_bits = static_cast<int>(entry & 63);
      if (all_bits == first_bits) {
        REQUIRE((entry >> 48 & 255) == first.onward());
        REQUIRE(entry >> 56 == 0);
        continue;
      }
      ++pairs;
      REQUIRE(with_pairs);
      REQUIRE_FALSE(first.ends);
      const Symbol second = read_symbol(codes, stream << first_bits, true);
      REQUIRE(all_bits == first_bits + second.code_bits + second.value_bits);
      REQUIRE((entry >> 48 & 255) == first.onward() + second.onward());
      REQUIRE(static_cast<std::int64_t>(entry) >> 56 == second.value);
    }
  }
  CHECK(pairs > 1000);
  CHECK(none > 1000);
}

TEST_CASE("codes that are none, and values that 8-bit files do not hold, are refused", "[codecs]") {
  const auto dc = std::make_unique<DcTable>();
  const auto ac = std::make_unique<AcTable>();
  HuffmanCodes three_of_one_bit;
  three_of_one_bit.counts[1] = 3;
  CHECK_FALSE(ac->build(three_of_one_bit, true, true));
  HuffmanCodes too_many;
  too_many.counts[15] = 200;
  too_many.counts[16] = 200;
  CHECK_FALSE(ac->build(too_many, true, true));
  HuffmanCodes wide;
  wide.counts[2] = 1;
  wide.symbols[0] = 12;
  CHECK_FALSE(dc->build(wide, false, false));
  CHECK_FALSE(ac->build(wide, true, false));
  wide.symbols[0] = 11;
  CHECK(dc->build(wide, false, false));
  CHECK_FALSE(ac->build(wide, true, false));
  // A refused table does not pass for the one built before.
  wide.symbols[0] = 12;
  CHECK_FALSE(dc->build(wide, false, false));
  CHECK_FALSE(dc->build(wide, false, false));
}

}  // namespace unstarve
